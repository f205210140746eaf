//! What every replica knows of the Secret, and serves from.

use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use berth_certs::managed::{Event, Observer, Reading, Shape, State};
use berth_certs::pair::Pair;
use berth_certs::pem::{CertError, Digest, Problem};
use berth_certs::serving::PairSource;
use jiff::Timestamp;
use tokio::sync::watch;

use crate::follow::follow;
use crate::objects::{Failure, Objects};

/// How often the log says what is waited for.
const TELL_AGAIN: Duration = Duration::from_secs(5);

/// The last good state that was seen.
#[derive(Debug)]
pub(crate) struct Memory {
    /// What messages call the Secret.
    name: String,
    known: Mutex<Known>,
    changes: watch::Sender<()>,
}

#[derive(Debug, Default)]
struct Known {
    /// With a leaf, and whole.
    good: Option<State>,
    /// Why the last that was seen is not that.
    problem: Option<CertError>,
    /// Why nothing is there yet, for a person.
    lacking: String,
}

/// The pair of the Secret, as it was last seen whole.
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

    /// Says when the Secret was seen anew.
    pub(crate) fn changes(&self) -> watch::Receiver<()> {
        self.changes.subscribe()
    }

    /// The Secret is like this now. `unusable`: what to say of one that holds nothing.
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

    fn lost_sight(&self, failure: &Failure) {
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

    /// Waits until there is one to serve. The log says what is waited for.
    pub async fn is_there(&self) {
        let mut changes = self.0.changes();
        loop {
            if self.load(Timestamp::now()).is_ok() {
                return;
            }
            tokio::select! {
                _ = changes.changed() => {}
                () = tokio::time::sleep(TELL_AGAIN) => {
                    let waiting = self.lacking();
                    tracing::warn!(waiting, "no certificate to serve yet: not ready");
                }
            }
        }
    }

    /// What is missing until there is one, for a person.
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

/// Follows the Secret.
pub(crate) async fn read(
    objects: &Objects,
    name: &str,
    memory: &Memory,
    observer: &Observer,
) -> Infallible {
    let mut told = None;
    follow(objects.api(), objects.secrets(), name, |seen| match seen {
        Ok(object) => {
            told = None;
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
        Err(failure) => {
            observer.tell(&Event::Failed);
            // Once: what is served goes on.
            if told.as_ref() != Some(&failure) {
                tracing::warn!(error = %failure, "certificates cannot be followed; trying again");
            }
            memory.lost_sight(&failure);
            told = Some(failure);
        }
    })
    .await
}
