//! After the story: a third cluster asks to join, and the console is served. Lines of standard input stop and start agents, so that a
//! visitor sees what the hub makes of it.

use anyhow::Context;
use berth_console::{Hub, Lines, Served};
use berth_hub::HubApi;
use berth_rules::display::Quoted;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::act::KUBECONFIG;
use crate::managed::{GUEST, Happening};
use crate::request::{self, Answer};
use crate::text::Screen;
use crate::{Stage, users};

const PATH: &str = "/apis/cluster.open-cluster-management.io/v1/managedclusters/c3";

/// The duration of the guest's Lease. The hub notices after five times as long that its agent has stopped.
const LEASE_SECONDS: u32 = 2;

/// What a line asks for.
#[derive(Debug, PartialEq, Eq)]
enum Typed {
    /// Another address of the console.
    Address,
    Happening(Happening),
    Unknown,
}

/// Serves the console of the hub for its admin until `shutdown`, and does what is typed.
pub(super) async fn host(stage: &mut Stage, shutdown: CancellationToken) -> anyhow::Result<()> {
    let screen = Screen::stdout();
    let kubeconfig = serde_saphyr::to_string(&stage.kubeconfig)?;
    let api = HubApi::of_kubeconfig(&kubeconfig, KUBECONFIG).await?;
    let options = berth_console::Options {
        context: Some(users::ADMIN.to_owned()),
        ..Default::default()
    };
    let mut console = Served::start(Hub::over(api), options).await?;
    let looked = tokio::select! {
        looked = look(stage, &screen, &mut console) => looked,
        () = shutdown.cancelled() => Ok(()),
    };
    console.stop().await?;
    looked
}

async fn look(stage: &mut Stage, screen: &Screen, console: &mut Served) -> anyhow::Result<()> {
    invite(stage).await?;
    screen.say(&format!(
        "{GUEST} asks to join: accept it in the console, or by: berth --context {} accept {GUEST}",
        users::ADMIN
    ))?;
    screen.say(&format!(
        "Type \"stop {GUEST}\" and Enter to stop its agent: {} seconds later {GUEST} is Unknown. \"start {GUEST}\" starts it again.\n",
        5 * LEASE_SECONDS
    ))?;
    screen.say(&format!(
        "The console, as {}. Open this address in a browser:",
        users::ADMIN
    ))?;
    console.announce()?;
    let mut lines = Lines::of_stdin();
    loop {
        let line = console.next_of(&mut lines).await?;
        let clusters = stage.agents.clusters();
        match typed(&line, &clusters) {
            Typed::Address => console.announce()?,
            Typed::Happening(happening) => {
                stage.agents.happen(happening).await?;
                screen.say(&match happening {
                    Happening::AgentStops(name) => format!("The agent of {name} has stopped."),
                    Happening::AgentStarts(name) => format!("The agent of {name} runs."),
                })?;
            }
            Typed::Unknown => screen.say(&format!(
                "{} is not known. Type \"stop NAME\" or \"start NAME\" for the agent of a cluster ({}), or only Enter for another address.",
                Quoted(&line),
                clusters.join(", ")
            ))?,
        }
    }
}

/// Has the guest ask to join, with a short Lease.
async fn invite(stage: &mut Stage) -> anyhow::Result<()> {
    stage.agents.add(&stage.kubeconfig, GUEST).await?;
    let admin = users::client(&stage.kubeconfig, users::ADMIN).await?;
    request::until(&admin, &[PATH], |objects| objects.first().map(|_| ())).await?;
    let short = json!({"spec": {"leaseDurationSeconds": LEASE_SECONDS}});
    match request::merge(&admin, PATH, &short).await? {
        Answer::Done { .. } => Ok(()),
        Answer::Refused { message, .. } => Err(anyhow::anyhow!(message))
            .with_context(|| format!("the Lease of {GUEST} cannot be shortened")),
    }
}

/// Reads a line, given the clusters that have an agent.
fn typed(line: &str, clusters: &[&'static str]) -> Typed {
    let mut words = line.split_whitespace();
    let (word, name, rest) = (words.next(), words.next(), words.next());
    let name = name.and_then(|name| clusters.iter().find(|it| **it == name).copied());
    match (word, name, rest) {
        (None, ..) => Typed::Address,
        (Some("stop"), Some(name), None) => Typed::Happening(Happening::AgentStops(name)),
        (Some("start"), Some(name), None) => Typed::Happening(Happening::AgentStarts(name)),
        _ => Typed::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_stops_or_starts_the_agent_that_it_names() {
        let stop = Typed::Happening(Happening::AgentStops("c3"));
        let start = Typed::Happening(Happening::AgentStarts("c1"));
        for (line, wanted) in [
            ("", Typed::Address),
            ("  ", Typed::Address),
            ("stop c3", stop),
            (" start  c1 ", start),
            ("stop", Typed::Unknown),
            ("stop c4", Typed::Unknown),
            ("stop c3 c1", Typed::Unknown),
            ("Stop c3", Typed::Unknown),
            ("c3", Typed::Unknown),
        ] {
            assert_eq!(typed(line, &["c1", "c3"]), wanted, "{line:?}");
        }
    }
}
