//! Three replicas behind one address, two controllers that keep their certificate, and callers that learn late of a new
//! bundle and of readiness.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rustls::ClientConfig;
use tokio::sync::watch;

use crate::faults::calls;
use crate::faults::load::{Load, Manner, Target, client, trusting};
use crate::faults::tally::Tally;
use berth_testkit::balancer::Balancer;
use berth_testkit::cluster::{Person, wait_until_in_force};
use berth_testkit::guarded::RunningGate;
use berth_testkit::managed::{SERVICE, World};
use berth_testkit::process::Controller;
use berth_testkit::writers::Writers;

const REPLICAS: usize = 3;

/// The delay with which callers learn of changes.
const LATE: Duration = Duration::from_secs(1);

pub struct Replicas {
    pub world: World,
    pub gates: Vec<RunningGate>,
    pub keepers: Vec<Controller>,
    target: Target,
}

impl Replicas {
    /// Starts gates and controllers with these flags, and waits until the hub trusts them.
    pub async fn start(flags: &[&str], keepers_flags: &[&str]) -> Self {
        let world = World::behind(Balancer::start_late(LATE).await).await;
        calls::grant(&world.hub).await;
        let (one, two, three, keeper, second) = tokio::join!(
            world.gate(flags),
            world.gate(flags),
            world.gate(flags),
            world.keeper(keepers_flags),
            world.keeper(keepers_flags),
        );
        let gates = vec![one, two, three];
        let keepers = vec![keeper, second];
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
            keepers,
            target,
        }
    }

    /// All replicas, for callers that trust the bundle of a registration.
    pub fn target(&self) -> Target {
        self.target.clone()
    }
}

/// Replicas and their callers: a hub with writers, and direct callers.
pub struct Busy {
    pub replicas: Replicas,
    writers: Writers,
    pub load: Load,
}

impl Busy {
    pub async fn start(flags: &[&str], keepers_flags: &[&str]) -> Self {
        let replicas = Replicas::start(flags, keepers_flags).await;
        wait_until_in_force(&replicas.world.hub).await;
        let manner = Manner {
            connections: 4,
            ..Manner::default()
        };
        Self {
            load: Load::start(replicas.target(), manner),
            writers: Writers::start(&replicas.world.hub).await,
            replicas,
        }
    }

    /// Waits until the hub has made this number of further calls.
    pub async fn go_on(&mut self, calls: usize) {
        self.writers.go_on(calls).await;
    }

    /// The outcomes of the direct calls, and the number of the hub's calls, which all succeeded.
    pub async fn stop(self) -> (Tally, String, Replicas) {
        let written = self.writers.stop().await;
        let written = format!("{written} writes");
        (self.load.stop().await, written, self.replicas)
    }
}

/// Gives callers the bundle of a registration.
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
