//! Faults of agents, and what the hub reports of their clusters meanwhile.

use std::time::{Duration, Instant};

use anyhow::Result;
use jiff::SignedDuration;
use serde::Serialize;
use tokio::time::sleep;

use super::agent::{Agent, Common, all_managed};
use super::relay::Relay;
use super::seen::Seen;
use super::spread::Spread;
use crate::hub::FleetHub;
use crate::say;

/// A hub reports a silent cluster as Unknown after this many durations of its Lease.
const GRACE: u32 = 5;

/// A renewal may be this many durations of the Lease old when the fault begins.
const RENEWAL: u32 = 1;

/// Upper bound on how much later than at its expiry a Lease is found to be expired, and on the time of agents to come back.
const PATIENCE: Duration = Duration::from_secs(120);

/// A fault of some agents. The first agents of the fleet have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// No byte passes between the agents and the hub.
    CutOff,
    /// The agents' clocks are off by this.
    ClockOff(SignedDuration),
    /// The agents end at once, and their files are lost.
    Crash,
}

/// The effect of a fault.
#[derive(Debug, Serialize)]
pub(crate) struct FaultOutcome {
    fault: &'static str,
    agents: usize,
    /// How long the fault lasted.
    lasted_s: f64,
    /// From its beginning until the hub reports a cluster as Unknown; `None`: of no cluster.
    unknown: Option<Spread>,
    /// Until such a cluster has a taint.
    tainted: Option<Spread>,
    /// From the end of the fault until a cluster is available and has no taint, and stays so.
    back: Option<Spread>,
    /// Clusters that were back for a moment before.
    relapsed: usize,
    /// Requests for certificates, from the beginning of the fault until all clusters are back.
    certificate_requests: usize,
}

/// The fleet, as far as faults concern it.
pub(crate) struct Fleet<'a> {
    pub(crate) hub: &'a FleetHub,
    pub(crate) common: &'a Common,
    pub(crate) agents: &'a mut [Agent],
    pub(crate) relay: Option<&'a Relay>,
    pub(crate) seen: &'a Seen,
    /// The duration of the clusters' Leases.
    pub(crate) lease: Duration,
    /// How long a fault lasts. `None`: until the hub has noticed, or would have.
    pub(crate) lasts: Option<Duration>,
}

// === impl Fleet ===

impl Fleet<'_> {
    /// Lets the first agents have this fault, ends it, and waits until they are back.
    ///
    /// # Errors
    /// A cluster does not come back.
    pub(crate) async fn suffer(&mut self, fault: Fault, agents: usize) -> Result<FaultOutcome> {
        say(fault.says());
        let requests = self.hub.requests().await?;
        let begun = Instant::now();
        self.seen.mark(begun);
        self.begin(fault, agents).await;
        match self.lasts {
            Some(lasts) => sleep(lasts).await,
            None => self.is_noticed(agents, bound(fault, self.lease)).await,
        }
        let since_begun = |_, _: &_| Some(begun);
        let unknown = Spread::of(self.seen.times(agents, since_begun, |it| it.unknown));
        let tainted = Spread::of(self.seen.times(agents, since_begun, |it| it.tainted));

        let ended = Instant::now();
        self.seen.mark(ended);
        self.end(fault, agents)?;
        self.are_back(agents).await?;
        let back = self.seen.times(agents, |_, _| Some(ended), |it| it.well);
        Ok(FaultOutcome {
            fault: fault.name(),
            agents,
            lasted_s: (ended - begun).as_secs_f64(),
            unknown,
            tainted,
            back: Spread::of(back),
            relapsed: self.seen.count(agents, |it| it.relapsed),
            certificate_requests: self.hub.requests().await?.saturating_sub(requests),
        })
    }

    async fn begin(&mut self, fault: Fault, agents: usize) {
        match fault {
            Fault::CutOff => self.relay.iter().for_each(|relay| relay.cut(true)),
            Fault::ClockOff(by) => self.agents[..agents]
                .iter()
                .for_each(|agent| agent.clock().set_off(by)),
            Fault::Crash => {
                for agent in &mut self.agents[..agents] {
                    agent.crash().await;
                }
            }
        }
    }

    fn end(&mut self, fault: Fault, agents: usize) -> Result<()> {
        match fault {
            Fault::CutOff => self.relay.iter().for_each(|relay| relay.cut(false)),
            Fault::ClockOff(_) => self.agents[..agents]
                .iter()
                .for_each(|agent| agent.clock().set_off(SignedDuration::ZERO)),
            Fault::Crash => {
                for agent in &mut self.agents[..agents] {
                    agent.restart(self.common)?;
                }
            }
        }
        Ok(())
    }

    /// Waits until all clusters are tainted, within this bound.
    async fn is_noticed(&self, agents: usize, bound: Duration) {
        let begun = Instant::now();
        while begun.elapsed() < bound && self.seen.count(agents, |it| it.tainted) < agents {
            sleep(Duration::from_millis(100)).await;
        }
    }

    async fn are_back(&self, agents: usize) -> Result<()> {
        let patience = PATIENCE + self.lease * GRACE;
        all_managed(&self.agents[..agents], patience).await?;
        self.seen.are_well(agents, patience).await
    }
}

// === impl Fault ===

impl Fault {
    fn name(self) -> &'static str {
        match self {
            Self::CutOff => "cut off",
            Self::ClockOff(_) => "clock off",
            Self::Crash => "crash",
        }
    }

    fn says(self) -> &'static str {
        match self {
            Self::CutOff => "cutting off",
            Self::ClockOff(_) => "setting clocks",
            Self::Crash => "crashing",
        }
    }
}

/// How long to wait for the hub to notice. A hub should not report a cluster as Unknown because of a clock: that is waited for only as
/// long as it would take.
fn bound(fault: Fault, lease: Duration) -> Duration {
    let expires = lease * (GRACE + RENEWAL);
    match fault {
        Fault::CutOff | Fault::Crash => expires + PATIENCE,
        Fault::ClockOff(_) => expires,
    }
}

// === impl FaultOutcome ===

impl FaultOutcome {
    /// The rows of the table.
    pub(crate) fn rows(&self) -> Vec<(String, String)> {
        let of = |spread: &Option<Spread>| spread.map_or(0, |it| it.count);
        let times = |spread: &Option<Spread>| {
            spread.map_or("-".to_owned(), |it| {
                format!("{:.1} s, {:.1} s", it.median_s, it.slowest_s)
            })
        };
        vec![
            (
                format!("{} agents: {}", self.agents, self.fault),
                format!("{:.1} s", self.lasted_s),
            ),
            (
                format!("  {} Unknown (median, slowest)", of(&self.unknown)),
                times(&self.unknown),
            ),
            (
                format!("  {} tainted", of(&self.tainted)),
                times(&self.tainted),
            ),
            (
                format!("  {} back after the end", of(&self.back)),
                times(&self.back),
            ),
            (
                "  of them lost again in between".to_owned(),
                self.relapsed.to_string(),
            ),
            (
                "  requests for certificates".to_owned(),
                self.certificate_requests.to_string(),
            ),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_is_given_the_time_that_silence_would_take() {
        let lease = Duration::from_secs(60);
        let clock = Fault::ClockOff(SignedDuration::from_secs(-600));
        assert_eq!(bound(clock, lease), Duration::from_secs(360));
        assert_eq!(bound(Fault::Crash, lease), Duration::from_secs(480));
    }
}
