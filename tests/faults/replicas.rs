//! Three replicas that keep their own certificates, behind one address, and callers who hear late: of a new bundle as of who
//! is ready.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rustls::ClientConfig;
use tokio::sync::watch;

use crate::balancer::Balancer;
use crate::calls;
use crate::cluster::Person;
use crate::guarded::RunningGate;
use crate::load::{Target, client, trusting};
use crate::managed::{SERVICE, World};

const REPLICAS: usize = 3;

/// So late.
const LATE: Duration = Duration::from_secs(1);

pub struct Replicas {
    pub world: World,
    pub gates: Vec<RunningGate>,
    target: Target,
}

impl Replicas {
    /// With these flags, when the hub believes them.
    pub async fn start(flags: &[&str]) -> Self {
        let world = World::behind(Balancer::start_late(LATE).await).await;
        calls::grant(&world.hub).await;
        let gates = tokio::join!(world.gate(flags), world.gate(flags), world.gate(flags));
        let gates = vec![gates.0, gates.1, gates.2];
        world.balancer.knows(REPLICAS).await;
        world.until_verified().await;
        let bundle = world.bundles().await[0].clone();
        let trust = trusting(&bundle);
        let target = Target::new(world.balancer.port, SERVICE, &trust);
        let registration = world.registrations[1].clone();
        let admin = world.hub.admin().await;
        tokio::spawn(hear(admin, registration, STANDARD.encode(bundle), trust));
        Self {
            world,
            gates,
            target,
        }
    }

    /// All of them, for callers that believe what a registration says.
    pub fn target(&self) -> Target {
        self.target.clone()
    }
}

/// Tells callers what a registration has.
async fn hear(
    admin: Person,
    registration: String,
    mut heard: String,
    trust: watch::Sender<Arc<ClientConfig>>,
) {
    loop {
        tokio::time::sleep(Duration::from_millis(100)).await;
        let Ok(answer) = admin.get(&registration).await else {
            continue;
        };
        let bundle = answer.body["webhooks"][0]["clientConfig"]["caBundle"].as_str();
        let bundle = bundle.unwrap_or_default();
        if bundle != heard {
            heard = bundle.to_owned();
            tokio::time::sleep(LATE).await;
            let pem = STANDARD.decode(bundle).unwrap();
            trust.send_replace(client(&String::from_utf8(pem).unwrap()));
        }
    }
}
