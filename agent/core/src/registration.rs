//! Registration: how the agent gets a certificate from the hub, the first one and each next one, for itself and for add-ons.
//!
//! [`decide`] takes what is known and says what to do next. It is asked again whenever something has changed, and at the time that it
//! names. Everything that it needs later is kept on the cluster before the hub is asked: the key, and the number of the attempt, from
//! which the name of the CSR follows. So an agent that is killed at any point goes on with the same request, and asks for no second one.
//!
//! OCM's agent keeps both in memory: each restart leaves a request behind, and ten of them block it.

mod waiting;

#[cfg(test)]
mod tests;

use std::time::Duration;

use berth_certs::pem::hex;
use jiff::Timestamp;

use crate::asked::Asked;
use crate::rotation::Standing;

pub use waiting::Waiting;

/// How long the hub refuses a certificate before the agent registers anew. A hub that restarts may refuse everyone for some seconds.
const REFUSED: Duration = Duration::from_secs(60);

/// The pause before the next attempt after a denial. It doubles up to [`LONGEST_PAUSE`].
const FIRST_PAUSE: Duration = Duration::from_secs(10 * 60);

/// The longest pause between two attempts.
const LONGEST_PAUSE: Duration = Duration::from_secs(60 * 60);

/// The most pending requests of this agent for one registration: that of the cluster, or one of an add-on with a signer. As with OCM.
pub const MOST_PENDING: usize = 10;

/// What is known. All of it is read from the cluster and from the hub; nothing is kept between two decisions.
#[derive(Clone, Debug)]
pub struct Facts<'a> {
    /// What is asked for.
    pub asked: &'a Asked,
    /// The certificate in the Secret.
    pub held: Held,
    /// SHA-256 of its public key, if the key is there.
    pub held_key: Option<[u8; 32]>,
    /// The kubeconfig and the names in the Secret are those that the agent would write.
    pub is_current: bool,
    /// The hub refuses this certificate with 401.
    pub refusal: Option<Refusal>,
    /// The attempt that is kept on the cluster.
    pub attempt: Option<Attempt>,
    /// What the hub knows of the attempt's CSR.
    pub request: Request,
    /// The agent's pending CSRs for this registration, without that of the attempt ([`Listed::others_pending`]).
    ///
    /// [`Listed::others_pending`]: crate::pending::Listed::others_pending
    pub others_pending: usize,
    /// The ManagedCluster on the hub. It exists for add-ons.
    pub cluster: ClusterOnHub,
}

/// The hub refuses the certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Since when.
    pub since: Timestamp,
    /// It has never taken the certificate at this URL, which the bootstrap kubeconfig has named since a moment ago: it is another hub.
    pub is_at_new_url: bool,
}

/// The certificate in the hub Secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Held {
    /// It cannot be used.
    Unusable(Fault),
    /// It is the agent's, and its key is there.
    Certificate(Standing),
}

/// Why the certificate in the hub Secret cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The certificate or the key does not exist.
    Missing,
    /// The certificate or the key cannot be read.
    Unreadable,
    /// It is for another cluster, or another agent.
    OtherSubject,
    /// It is for another hub.
    OtherHub,
    /// The key belongs to another certificate.
    OtherKey,
    /// It has expired.
    Expired,
    /// The hub refuses it.
    Refused,
}

/// A key that is kept on the cluster, and which request is made with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// SHA-256 of the public key.
    pub key: [u8; 32],
    /// Counts the requests with this key that were denied, failed or answered wrongly.
    pub number: u32,
}

/// A CSR as the hub has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// The hub was not asked yet, or did not answer.
    Unknown,
    /// The hub says that it does not exist.
    Absent,
    /// Neither approved nor denied.
    Pending,
    /// Approved, but not signed.
    Unsigned,
    /// The certificate is there.
    Issued,
    /// The certificate is there, and it is not the one that was asked for.
    IssuedWrongly {
        /// What is wrong with it.
        why: Fault,
        /// When it was approved.
        at: Timestamp,
    },
    /// Someone denied it.
    Denied {
        /// The message of the condition.
        message: String,
        /// The time of the condition.
        at: Timestamp,
    },
    /// The signer refused it.
    Failed {
        /// The message of the condition.
        message: String,
        /// The time of the condition.
        at: Timestamp,
    },
}

/// The ManagedCluster as the hub has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClusterOnHub {
    /// The hub was not asked yet, or did not answer.
    Unknown,
    /// The hub says that it does not exist.
    Absent,
    /// It exists.
    Present,
    /// The hub refused to show it or to create it.
    Refused {
        /// The words of the hub.
        message: String,
        /// When.
        at: Timestamp,
        /// How often in a row.
        times: u32,
    },
}

/// Which credentials a request is made with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Credentials {
    /// The agent's own certificate.
    Hub,
    /// Those of the bootstrap kubeconfig.
    Bootstrap,
}

/// Whether a certificate is needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// The certificate is good until this time.
    Nothing {
        /// When the next one is due. `None` if the clock is before its beginning.
        renew_at: Option<Timestamp>,
    },
    /// It is good, and the next one is due.
    Renewal,
    /// The agent has no certificate that it can use, for this reason.
    Bootstrap(Fault),
}

/// The next thing to do. The agent carries it out, reads again, and decides again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Create the ManagedCluster, with the bootstrap credentials.
    CreateCluster,
    /// Keep this attempt on the cluster.
    Keep {
        /// [`Attempt::number`].
        number: u32,
        /// True if a new key is needed.
        with_new_key: bool,
    },
    /// Create the CSR of the attempt.
    Ask {
        /// Its name.
        name: String,
        /// The credentials for it.
        with: Credentials,
    },
    /// Write the kubeconfig and the names into the hub Secret, beside the certificate that is there: the bootstrap kubeconfig names
    /// another URL, CA or proxy, and the certificate may be good there, too. OCM's agent asks for a new one.
    Rewrite,
    /// Write the issued certificate and its key into the hub Secret.
    Save,
    /// Delete the attempt from the cluster: its certificate is saved.
    Forget,
}

/// What follows from the facts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// Whether a certificate is needed.
    pub need: Need,
    /// What to do, in this order.
    pub steps: Vec<Step>,
    /// What the agent waits for, for people.
    pub waiting: Option<Waiting>,
    /// Decide again at this time, if nothing changes before.
    pub again: Option<Timestamp>,
}

/// Decides what to do next.
#[must_use]
pub fn decide(facts: &Facts<'_>, now: Timestamp) -> Decision {
    let need = need(facts, now);
    let mut decision = Decision {
        need,
        steps: Vec::new(),
        waiting: None,
        again: None,
    };
    if !facts.is_current && !matches!(need, Need::Bootstrap(_)) {
        decision.steps.push(Step::Rewrite);
    }
    let with = match need {
        Need::Nothing { renew_at } => {
            let for_good = facts.refusal.map(Refusal::is_for_good_at);
            decision.again = renew_at.into_iter().chain(for_good).min();
            if facts.attempt.is_some() {
                decision.steps.push(Step::Forget);
            }
            return decision;
        }
        Need::Bootstrap(_) if facts.asked.addon.is_none() => Credentials::Bootstrap,
        // The agent asks for its add-ons.
        Need::Bootstrap(_) | Need::Renewal => Credentials::Hub,
    };
    let is_saved = |attempt: &Attempt| facts.held_key == Some(attempt.key);
    if facts.attempt.as_ref().is_some_and(is_saved) {
        // The agent was killed after it had saved the certificate, and that was long ago.
        decision.steps.push(Step::Forget);
        return decision;
    }
    if with == Credentials::Bootstrap {
        decision.cluster(facts, now);
    }
    decision.certificate(facts, with, now);
    decision
}

fn need(facts: &Facts<'_>, now: Timestamp) -> Need {
    let is_refused = facts.refusal.is_some_and(|it| it.is_for_good(now));
    match facts.held {
        Held::Unusable(fault) => Need::Bootstrap(fault),
        Held::Certificate(Standing::Expired) => Need::Bootstrap(Fault::Expired),
        Held::Certificate(_) if is_refused => Need::Bootstrap(Fault::Refused),
        Held::Certificate(Standing::Due) => Need::Renewal,
        Held::Certificate(Standing::Fresh { renew_at }) => Need::Nothing {
            renew_at: Some(renew_at),
        },
        // Only the hub's clock counts for the hub.
        Held::Certificate(Standing::NotYetValid) => Need::Nothing { renew_at: None },
    }
}

/// Returns the pause before the next attempt, after this many that did not succeed.
fn pause(times: u32) -> Duration {
    (FIRST_PAUSE * 2_u32.pow(times.min(8))).min(LONGEST_PAUSE)
}

fn after(time: Timestamp, pause: Duration) -> Timestamp {
    time.saturating_add(pause).unwrap_or(Timestamp::MAX)
}

// === impl Refusal ===

impl Refusal {
    /// Returns true if the agent registers anew.
    #[must_use]
    pub fn is_for_good(self, now: Timestamp) -> bool {
        self.is_for_good_at() <= now
    }

    fn is_for_good_at(self) -> Timestamp {
        match self.is_at_new_url {
            true => self.since,
            false => after(self.since, REFUSED),
        }
    }
}

// === impl Attempt ===

impl Attempt {
    /// Returns the name of the CSR. It follows from the key, so asking twice makes one; and it is never cut, unlike a generated one.
    #[must_use]
    pub fn csr_name(&self, asked: &Asked) -> String {
        let key = hex(&self.key[..8]);
        let prefix = asked.prefix();
        match self.number {
            0 => format!("{prefix}{key}"),
            number => format!("{prefix}{key}-{number}"),
        }
    }
}

// === impl Decision ===

impl Decision {
    /// What the ManagedCluster needs.
    fn cluster(&mut self, facts: &Facts<'_>, now: Timestamp) {
        match &facts.cluster {
            ClusterOnHub::Unknown | ClusterOnHub::Present => {}
            ClusterOnHub::Absent => self.steps.push(Step::CreateCluster),
            ClusterOnHub::Refused { message, at, times } => {
                // Minutes, not hours: a person is likely waiting.
                let again = after((*at).min(now), pause(*times) / 10);
                if again <= now {
                    self.steps.push(Step::CreateCluster);
                } else {
                    self.waits(
                        Waiting::ClusterRefused {
                            message: message.clone(),
                        },
                        Some(again),
                    );
                }
            }
        }
    }

    /// What the certificate needs.
    fn certificate(&mut self, facts: &Facts<'_>, with: Credentials, now: Timestamp) {
        let Some(attempt) = &facts.attempt else {
            self.steps.push(Step::Keep {
                number: 0,
                with_new_key: true,
            });
            return;
        };
        let csr = attempt.csr_name(facts.asked);
        match &facts.request {
            Request::Unknown => {}
            Request::Absent if facts.others_pending >= MOST_PENDING => self.waits(
                Waiting::TooMany {
                    count: facts.others_pending,
                },
                Some(after(now, FIRST_PAUSE)),
            ),
            Request::Absent => self.steps.push(Step::Ask { name: csr, with }),
            Request::Pending => self.waits(Waiting::approval(csr, facts.asked), None),
            Request::Unsigned => {
                let signer = facts.asked.signer.clone();
                self.waits(Waiting::Signature { csr, signer }, None);
            }
            Request::Issued => self.steps.push(Step::Save),
            Request::IssuedWrongly { why, at } => {
                let waiting = Waiting::WrongCertificate { csr, why: *why };
                self.answered(attempt, waiting, *at, now);
            }
            Request::Denied { message, at } => {
                let message = message.clone();
                self.answered(attempt, Waiting::Denied { csr, message }, *at, now);
            }
            Request::Failed { message, at } => {
                let message = message.clone();
                self.answered(attempt, Waiting::Failed { csr, message }, *at, now);
            }
        }
    }

    /// A request that was answered, and not with the certificate: asks again with the same key, some time later.
    fn answered(&mut self, attempt: &Attempt, waiting: Waiting, at: Timestamp, now: Timestamp) {
        // The time is the hub's: one in the future counts as now.
        let again = after(at.min(now), pause(attempt.number));
        if again <= now {
            self.steps.push(Step::Keep {
                number: attempt.number.saturating_add(1),
                with_new_key: false,
            });
        } else {
            self.waits(waiting, Some(again));
        }
    }

    /// The first counts: without a ManagedCluster, nobody can accept it.
    fn waits(&mut self, waiting: Waiting, again: Option<Timestamp>) {
        self.waiting.get_or_insert(waiting);
        self.again = self.again.into_iter().chain(again).min();
    }
}
