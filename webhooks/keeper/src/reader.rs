//! The Secret as every replica last saw it, and serves from it.

use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use berth_certs::managed::{Event, Observer, Reading, Shape, State};
use berth_certs::pair::Pair;
use berth_certs::pem::{CertError, Digest, Problem};
use berth_certs::serving::PairSource;
use berth_reconcile::follow_one;
use jiff::Timestamp;
use tokio::sync::watch;

use crate::objects::{Objects, RequestError};

/// While no certificate can be served, that is logged this often.
const LOG_AGAIN: Duration = Duration::from_secs(5);

/// The last good state of the Secret.
#[derive(Debug)]
pub(crate) struct Memory {
    /// The name of the Secret in messages.
    name: String,
    known: Mutex<Known>,
    changes: watch::Sender<()>,
}

#[derive(Debug, Default)]
struct Known {
    /// The last state without problems and with a leaf.
    good: Option<State>,
    /// Why the Secret as last seen is not such a state.
    problem: Option<CertError>,
    /// Why no certificate can be served yet, for users.
    lacking: String,
}

/// The pair of the last good state of the Secret.
#[derive(Clone, Debug)]
pub struct ManagedPair(Arc<Memory>);

// === impl Memory ===

impl Memory {
    pub(crate) fn new(name: String) -> Self {
        let known = Known {
            lacking: format!("{name} has not been read yet"),
            ..Known::default()
        };
        Self {
            name,
            known: Mutex::new(known),
            changes: watch::Sender::new(()),
        }
    }

    /// The last good state.
    pub(crate) fn state(&self) -> Option<State> {
        self.known().good.clone()
    }

    /// Notifies whenever the Secret was read.
    pub(crate) fn changes(&self) -> watch::Receiver<()> {
        self.changes.subscribe()
    }

    /// Remembers the Secret as it is now. `unusable`: the message for a Secret of a shape without certificates.
    fn saw(&self, reading: Reading, unusable: impl FnOnce(Shape) -> String) {
        let mut known = self.known();
        known.problem = None;
        match reading {
            Reading {
                shape: Shape::Missing,
                ..
            } => {
                known.problem = Some(self.absent());
                known.lacking = unusable(Shape::Missing);
            }
            Reading {
                state: Some(state),
                problems,
                ..
            } if problems.is_empty() => {
                if state.leaf.is_some() {
                    known.good = Some(state);
                } else {
                    known.lacking = format!(
                        "{} has an authority that is being introduced, and no certificate yet",
                        self.name
                    );
                }
            }
            Reading {
                problems, shape, ..
            } => {
                known.problem = problems.into_iter().next();
                if shape != Shape::Filled {
                    known.lacking = unusable(shape);
                } else if let Some(problem) = &known.problem {
                    known.lacking = problem.to_string();
                }
            }
        }
        drop(known);
        self.changes.send_replace(());
    }

    /// Remembers why the Secret cannot be read.
    fn lost_sight(&self, failure: &RequestError) {
        self.known().lacking = failure.to_string();
    }

    fn absent(&self) -> CertError {
        CertError {
            file: self.name.clone(),
            problem: Problem::Missing,
            content: Digest::of(&[]),
        }
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl ManagedPair ===

impl ManagedPair {
    pub(crate) fn new(memory: Arc<Memory>) -> Self {
        Self(memory)
    }

    /// Waits until a pair can be served. Logs what is missing.
    pub async fn is_there(&self) {
        let mut changes = self.0.changes();
        loop {
            if self.load(Timestamp::now()).is_ok() {
                return;
            }
            tokio::select! {
                _ = changes.changed() => {}
                () = tokio::time::sleep(LOG_AGAIN) => {
                    let waiting = self.lacking();
                    tracing::warn!(waiting, "no certificate to serve yet: not ready");
                }
            }
        }
    }

    /// What is missing until a pair can be served, for users.
    pub fn lacking(&self) -> String {
        self.0.known().lacking.clone()
    }
}

impl PairSource for ManagedPair {
    fn load(&self, now: Timestamp) -> Result<Pair, CertError> {
        let known = self.0.known();
        if let Some(problem) = &known.problem {
            return Err(problem.clone());
        }
        let leaf = known.good.as_ref().and_then(|state| state.leaf.as_ref());
        let leaf = leaf.ok_or_else(|| self.0.absent())?;
        leaf.pair_at(now)
    }

    fn changes(&self) -> Option<watch::Receiver<()>> {
        Some(self.0.changes())
    }
}

/// Follows the Secret until the future is dropped.
pub(crate) async fn read(objects: &Objects, memory: &Memory, observer: &Observer) -> Infallible {
    let mut logged = None;
    let secret = objects.watched_secret();
    follow_one(objects.api(), &secret, |seen| match seen {
        Ok(object) => {
            logged = None;
            let reading = objects.reading(object.as_ref(), Timestamp::now());
            observer.tell(&Event::Secret(reading.shape));
            if let Some(state) = &reading.state {
                observer.tell(&Event::Seen {
                    leaf: state.leaf.as_ref().map(|leaf| leaf.pair.not_after),
                    authority: state.authority.root.not_after(),
                });
            }
            memory.saw(reading, |shape| objects.unusable(shape).to_string());
        }
        Err(error) => {
            let failure = RequestError::from(error);
            observer.tell(&Event::Failed);
            // Once: the last good state is still served.
            if logged.as_ref() != Some(&failure) {
                tracing::warn!(error = %failure, "the Secret of the certificates cannot be read; trying again");
            }
            memory.lost_sight(&failure);
            logged = Some(failure);
        }
    })
    .await
}
