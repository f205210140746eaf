//! Which of several hubs the agent belongs to (feature gate `MultipleHubs`).
//!
//! The agent belongs to one hub at a time. [`choose`] says when it looks at others, and when it goes to one of them: at the start, when its
//! hub denies the cluster, when its hub has not managed it for too long, and when a preferred hub that it had to leave is back.
//!
//! Follows OCM's agent in what makes a hub usable, and in that the order of the hubs counts. OCM's restarts to choose again, does not
//! remember why it left a hub, gives up one where the cluster waits for acceptance, and never comes back by itself.
//!
//! The agent chooses again every few seconds.
//!
//! # Guarantees
//! - The agent goes to no hub that did not just say that it can be used.
//! - It leaves a hub that manages it only for one that accepts the cluster and whose certificate it still has, so that no person is needed.

pub mod kept;

#[cfg(test)]
mod tests;

use std::time::Duration;

use jiff::Timestamp;

use crate::cluster::Cluster;
use crate::registered::HubStanding;

/// How long an answer of another hub counts, while the agent needs a hub.
const LOOK: Duration = Duration::from_secs(60);

/// How long it counts otherwise.
const LOOK_AT_REST: Duration = Duration::from_secs(5 * 60);

/// What a registration waits for that does not get on.
const LOST: [&str; 7] = [
    "BootstrapCredentialsRefused",
    "BootstrapKubeconfigUnusable",
    "CSRDenied",
    "CSRFailed",
    "HubAway",
    "ManagedClusterRefused",
    "RequestRefused",
];

/// The longest time before a hub that was left is preferred again.
const LONGEST_AWAY: Duration = Duration::from_secs(24 * 60 * 60);

/// What a hub said when the agent last looked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sight {
    /// It was not asked yet.
    Unknown,
    /// It does not answer, or does not let the agent register: the words for people.
    Unusable(String),
    /// It no longer accepts the cluster.
    Denied,
    /// The agent can register there: nobody has decided about the cluster yet.
    Open,
    /// It accepts the cluster.
    Accepted,
}

/// One of the hubs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// What it said.
    pub sight: Sight,
    /// When it was asked.
    pub looked: Option<Timestamp>,
    /// The agent has a certificate for it.
    pub has_certificate: bool,
    /// When the agent left it, and how often.
    pub left: Option<Left>,
}

/// When the agent left a hub.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Left {
    /// The last time.
    pub at: Timestamp,
    /// How often.
    pub times: u32,
}

/// How the agent stands with its hub.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contact {
    /// The hub manages the cluster.
    Managed,
    /// The hub answers, and the agent waits for a person there, since this time.
    Waiting(Timestamp),
    /// The hub does not accept the cluster any more.
    Denied,
    /// The hub does not answer, or refuses the agent, since this time.
    Lost(Timestamp),
}

/// Notes how the agent stands with its hub.
#[derive(Clone, Copy, Debug, Default)]
pub struct Touch {
    lost_since: Option<Timestamp>,
    waits_since: Option<Timestamp>,
    was_managed: bool,
}

/// What is known.
#[derive(Clone, Copy, Debug)]
pub struct Facts<'a> {
    /// The hub that the agent belongs to. `None`: it has to choose the first one.
    pub current: Option<usize>,
    /// How it stands there.
    pub contact: Contact,
    /// All hubs, the preferred ones first.
    pub hubs: &'a [Candidate],
    /// How long a hub may not manage the cluster.
    pub timeout: Duration,
    /// From 0 to 1, drawn once per process: agents of one hub do not all leave it at the same time.
    pub spread: f64,
}

/// What to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Choice {
    /// Stay.
    Stay,
    /// Ask these hubs, and choose again.
    Look(Vec<usize>),
    /// Go to this hub.
    Go(usize),
}

/// Chooses the hub.
#[must_use]
pub fn choose(facts: &Facts<'_>, now: Timestamp) -> Choice {
    let spread = facts.spread.clamp(0.0, 1.0);
    let (needs_another, period) = match (facts.current, facts.contact) {
        (Some(_), Contact::Lost(since) | Contact::Waiting(since))
            if now < after(since, facts.timeout.mul_f64(1.0 + 0.2 * spread)) =>
        {
            return Choice::Stay;
        }
        (None, _) | (Some(_), Contact::Denied | Contact::Lost(_)) => (true, LOOK),
        (Some(_), Contact::Managed | Contact::Waiting(_)) => (false, LOOK_AT_REST),
    };
    let period = period.mul_f64(1.0 + 0.5 * spread);
    let may_count = |at: usize, hub: &Candidate| match (facts.current, facts.contact) {
        (None, _) => true,
        (Some(current), _) if at == current => false,
        (Some(current), Contact::Managed) => {
            at < current && hub.has_certificate && hub.left.is_none_or(|it| it.is_over(facts, now))
        }
        (Some(_), Contact::Waiting(_)) => hub.has_certificate,
        (Some(_), Contact::Denied | Contact::Lost(_)) => true,
    };
    let others: Vec<usize> = (facts.hubs.iter().enumerate())
        .filter(|(at, hub)| may_count(*at, hub))
        .map(|(at, _)| at)
        .collect();
    // A look in the future was made before the clock was set back.
    let is_stale = |at: &usize| {
        let looked = facts.hubs[*at].looked;
        looked.is_none_or(|looked| looked > now || after(looked, period) <= now)
    };
    let stale: Vec<usize> = others.iter().copied().filter(is_stale).collect();
    if !stale.is_empty() {
        return Choice::Look(stale);
    }
    let is_usable = |at: &usize| match facts.hubs[*at].sight {
        Sight::Accepted => true,
        Sight::Open => needs_another,
        Sight::Unknown | Sight::Unusable(_) | Sight::Denied => false,
    };
    match others.into_iter().find(is_usable) {
        Some(to) => Choice::Go(to),
        None => Choice::Stay,
    }
}

fn after(time: Timestamp, pause: Duration) -> Timestamp {
    time.saturating_add(pause).unwrap_or(Timestamp::MAX)
}

// === impl Touch ===

impl Touch {
    /// Notes how the hub sees the cluster, and what the registration waits for: a reason, as in Events.
    pub fn see(&mut self, hub: &HubStanding, waits_for: Option<&str>, now: Timestamp) -> Contact {
        let is_lost = match hub {
            HubStanding::Managed | HubStanding::ClockOff | HubStanding::TwoAgents => {
                *self = Self {
                    was_managed: true,
                    ..Self::default()
                };
                return Contact::Managed;
            }
            HubStanding::Denied => return Contact::Denied,
            HubStanding::Away(_)
            | HubStanding::Refused
            | HubStanding::Absent
            | HubStanding::Deleting => true,
            // A hub that deletes the cluster takes the agent's rights.
            HubStanding::NotAccepted | HubStanding::NotSetUp => self.was_managed,
            // Nothing is known for a moment when a connection begins.
            HubStanding::Unknown => match waits_for {
                Some(reason) => LOST.contains(&reason),
                None => self.lost_since.is_some(),
            },
        };
        let begin = |since: Option<Timestamp>| since.unwrap_or(now).min(now);
        self.lost_since = is_lost.then(|| begin(self.lost_since));
        self.waits_since = (!is_lost).then(|| begin(self.waits_since));
        let waits = Contact::Waiting(self.waits_since.unwrap_or(now));
        self.lost_since.map_or(waits, Contact::Lost)
    }
}

// === impl Sight ===

impl Sight {
    /// Judges the ManagedCluster of a hub that lets the agent register; `None`: it does not exist.
    #[must_use]
    pub fn of(cluster: Option<&Cluster>) -> Self {
        match cluster {
            Some(it) if it.is_deleting => Self::Denied,
            Some(it) if it.is_accepted => Self::Accepted,
            // A hub sets the condition when someone denies the cluster.
            Some(it) if it.was_decided() => Self::Denied,
            Some(_) | None => Self::Open,
        }
    }
}

impl std::fmt::Display for Sight {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Unknown => "not asked yet",
            Self::Unusable(why) => why,
            Self::Denied => "it does not accept the cluster",
            Self::Open => "the cluster can register there",
            Self::Accepted => "it accepts the cluster",
        })
    }
}

// === impl Left ===

impl Left {
    /// Returns true if the hub may be preferred again. The time doubles with each return that did not last.
    fn is_over(self, facts: &Facts<'_>, now: Timestamp) -> bool {
        let away = facts.timeout.saturating_mul(2_u32.pow(self.times.min(16)));
        after(self.at, away.min(LONGEST_AWAY)) <= now
    }
}
