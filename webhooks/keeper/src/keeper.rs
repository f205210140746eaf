//! The leader keeps Secret and registrations as they should be.
//!
//! Watches only wake the keeper. It then reads the objects, and decides by them and not by what a watch reported: a keeper that
//! has just begun to lead must not undo what its predecessor wrote a moment ago.

use std::collections::{BTreeMap, VecDeque};
use std::convert::Infallible;
use std::time::Duration;

use berth_certs::managed::events::{Made, Reason};
use berth_certs::managed::{
    Bundle, Decision, Event, Facts, Observer, Published, Shape, State, Step, decide, make, verifies,
};
use berth_hub::Backoff;
use berth_lease::Term;
use berth_reconcile::follow_one;
use futures::future::join_all;
use jiff::Timestamp;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep};

use crate::absent::Absent;
use crate::called::is_any_trusted;
use crate::objects::{Objects, Registered, RequestError, Stored};
use crate::reader::Memory;
use crate::settings::{Registration, RegistrationKind, Settings};

/// The first pause after a failure, and the longest.
const FIRST_PAUSE: Duration = Duration::from_millis(200);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// The longest time between two checks of all objects.
const LOOK_AGAIN: Duration = Duration::from_secs(60);

/// Upper bound on steps per run.
const MOST_STEPS: usize = 32;

/// Upper bound on conflicts in a row with other clients.
const MOST_CONFLICTS: usize = 3;

/// Upper bound on changes of other clients that are undone within [`MENDS_IN`].
const MOST_MENDS: usize = 20;

/// The time for [`MOST_MENDS`].
const MENDS_IN: Duration = Duration::from_secs(60);

/// Keeps certificates for one term.
pub(crate) struct Keeper<'a> {
    pub(crate) objects: &'a Objects,
    pub(crate) settings: &'a Settings,
    pub(crate) memory: &'a Memory,
    pub(crate) observer: &'a Observer,
    pub(crate) term: &'a Term,
}

/// What a keeper knows.
#[derive(Default)]
struct Work {
    /// The last good state that was read or written in this term.
    remembered: Option<State>,
    /// The bundle of each registration when it was last right.
    right: BTreeMap<String, String>,
    /// Registrations that do not exist.
    absent: Absent,
    /// When changes of other clients were undone.
    mends: VecDeque<Instant>,
    /// The failure that was logged last.
    logged: Option<RequestError>,
}

/// The role leaves this registration to others.
fn is_left_to_others(registration: &Registration, failure: &RequestError) -> bool {
    registration.kind == RegistrationKind::Conversion && failure.is_forbidden()
}

// === impl Keeper ===

impl Keeper<'_> {
    /// Keeps certificates until the future is dropped. Each request ends with the term.
    pub(crate) async fn keep(&self) -> Infallible {
        let wake = Notify::new();
        let watches = self.settings.registrations.iter().map(|registration| {
            let row = Objects::watched_registration(registration);
            let (api, wake) = (self.objects.api(), &wake);
            async move {
                // The keeper reads the registration then, and reports why that fails.
                follow_one(api, &row, |_| wake.notify_one()).await
            }
        });
        let watches = join_all(watches);
        tokio::select! {
            never = self.work(&wake) => never,
            // Without registrations.
            _ = watches => self.work(&wake).await,
        }
    }

    async fn work(&self, wake: &Notify) -> Infallible {
        let mut changes = self.memory.changes();
        let mut work = Work::default();
        let mut pauses = Backoff::new(FIRST_PAUSE, LONGEST_PAUSE);
        loop {
            let wait = match self.settle(&mut work).await {
                Ok(again) => {
                    pauses.reset();
                    work.logged = None;
                    let left = again.duration_since(Timestamp::now());
                    Duration::try_from(left).unwrap_or_default().min(LOOK_AGAIN)
                }
                Err(failure) => {
                    self.observer.tell(&Event::Failed);
                    if work.logged.as_ref() != Some(&failure) {
                        tracing::warn!(error = %failure, "certificates cannot be kept; trying again");
                        work.logged = Some(failure);
                    }
                    let wait = pauses.pause();
                    // A change of the Secret may end the failure. A change of a registration does not.
                    tokio::select! {
                        _ = changes.changed() => {}
                        () = sleep(wait) => {}
                    }
                    continue;
                }
            };
            tokio::select! {
                () = wake.notified() => {}
                _ = changes.changed() => {}
                // A moment later, when the next step is due.
                () = sleep(wait + Duration::from_millis(1)) => {}
            }
        }
    }

    /// Reads, decides and writes until nothing is due. Returns when something will be.
    async fn settle(&self, work: &mut Work) -> Result<Timestamp, RequestError> {
        let mut conflicts = 0;
        for _ in 0..MOST_STEPS {
            let stored = self.objects.secret(self.term, Timestamp::now()).await?;
            let (registered, unseen) = self.registered(work).await;
            // After the requests: the time to settle counts from here.
            let now = Timestamp::now();
            let published: Published = registered.iter().flat_map(Registered::published).collect();
            let missed_until = work.absent.waits_until(self.settings.policy.settle);
            let published = published.incomplete(missed_until.is_some());
            let reading = &stored.reading;
            if let Some(state) = &reading.state
                && reading.problems.is_empty()
                && state.leaf.is_some()
            {
                work.remembered = Some(state.clone());
            }
            let remembered = work.remembered.clone().or_else(|| self.memory.state());
            let mut facts = Facts {
                now,
                stored: reading,
                published: unseen.is_none().then_some(&published),
                remembered: remembered.as_ref(),
                served: None,
                policy: &self.settings.policy,
            };
            let mut decision = decide(&facts);
            if decision == Decision::Ask {
                let called = registered.iter().flat_map(|it| it.called.clone());
                let served = is_any_trusted(called.collect()).await;
                facts.served = Some(served);
                decision = decide(&facts);
                if !served {
                    tracing::info!(
                        "no webhook server runs that the registrations trust: a new authority need not settle"
                    );
                }
            }
            let again = match decision {
                Decision::Blocked => {
                    // The gates still serve the last good state, so its authority stays published.
                    let served = remembered.as_ref().or(reading.state.as_ref());
                    let _ = self.publish(work, served, &registered, now).await;
                    return Err(self.objects.unusable(reading.shape));
                }
                Decision::Do(step) => match self.step(work, step, &facts, &stored).await {
                    Ok(()) => continue,
                    Err(failure) if failure.is_conflict() && conflicts < MOST_CONFLICTS => {
                        conflicts += 1;
                        continue;
                    }
                    Err(failure) => {
                        // The stored state is still published.
                        let _ = self
                            .publish(work, reading.state.as_ref(), &registered, now)
                            .await;
                        return Err(failure);
                    }
                },
                Decision::Rest(again) => again,
                Decision::Look | Decision::Ask => now,
            };
            let wrote = self
                .publish(work, reading.state.as_ref(), &registered, now)
                .await?;
            if let Some(failure) = unseen {
                return Err(failure);
            }
            match wrote {
                Wrote::Something => {}
                Wrote::Nothing => {
                    self.observer.tell(&Event::Verified(now));
                    // From then on missing registrations count as left out.
                    let missed_until =
                        missed_until.map(|at| now + at.duration_since(Instant::now()));
                    return Ok(missed_until.map_or(again, |at| again.min(at)));
                }
                Wrote::Later(at) => return Ok(again.min(at)),
            }
        }
        // Another client writes all the time.
        Ok(Timestamp::now() + LOOK_AGAIN / 20)
    }

    /// The registrations that exist, and why one could not be read.
    async fn registered(&self, work: &mut Work) -> (Vec<Registered>, Option<RequestError>) {
        let (mut registered, mut unseen) = (Vec::new(), None);
        for registration in &self.settings.registrations {
            let names = &self.settings.policy;
            match self
                .objects
                .registered(self.term, registration, names)
                .await
            {
                Ok(Some(found)) => {
                    work.absent.found(registration);
                    registered.push(found);
                }
                // A hub need not have the kind.
                Ok(None) if registration.kind == RegistrationKind::Conversion => {}
                Ok(None) => work.absent.missed(registration),
                // The role of a former version. Then no conversion of that version named this gate, and nothing else waits for it.
                Err(failure) if is_left_to_others(registration, &failure) => {
                    tracing::warn!(
                        %failure,
                        "the conversion of add-ons gets no caBundle: apply the role of this version"
                    );
                }
                Err(failure) => unseen = unseen.or(Some(failure)),
            }
        }
        self.observer.tell(&Event::Absent(work.absent.count()));
        (registered, unseen)
    }

    async fn step(
        &self,
        work: &mut Work,
        step: Step,
        facts: &Facts<'_>,
        stored: &Stored,
    ) -> Result<(), RequestError> {
        // The Secret of the manifest is empty, which deserves no warning.
        if facts.stored.shape != Shape::Empty {
            for problem in &facts.stored.problems {
                tracing::warn!(%problem, "the stored certificates are unusable");
            }
        }
        let state = make(step, facts).map_err(|error| RequestError::making(&error))?;
        self.objects.store(self.term, stored, &state).await?;
        let authority = state.newest().root.not_after();
        let leaf = state.leaf.as_ref().map(|leaf| leaf.pair.not_after);
        let leaf = leaf.map(tracing::field::display);
        tracing::info!(what = step.description(), %authority, leaf, "certificates stored");
        let made = match step {
            Step::Begin if state.leaf.is_some() => vec![Made::Authority, Made::Leaf],
            Step::Begin | Step::Introduce => vec![Made::Authority],
            Step::Leaf | Step::Switch => vec![Made::Leaf],
            _ => vec![],
        };
        for made in made {
            self.observer.tell(&Event::Made(made));
        }
        if state.leaf.is_some() {
            work.remembered = Some(state);
        }
        Ok(())
    }

    /// Gives every registration the bundle of what is stored.
    async fn publish(
        &self,
        work: &mut Work,
        state: Option<&State>,
        registered: &[Registered],
        now: Timestamp,
    ) -> Result<Wrote, RequestError> {
        let Some(state) = state else {
            return Ok(Wrote::Nothing);
        };
        let bundle = state.bundle();
        let (mut wrote, mut failed) = (Wrote::Nothing, None);
        for registered in registered {
            let name = registered.registration.to_string();
            if registered.bundles.iter().all(|it| *it == bundle.as_bytes()) {
                work.right.insert(name, bundle.clone());
                continue;
            }
            let reason = self.reason(work.right.get(&name), registered, state, now);
            if reason != Reason::Published
                && let Some(wait) = work.is_a_fight()
            {
                tracing::warn!(registration = name, others = ?registered.others,
                    "another client keeps writing another caBundle; it is mended less often");
                wrote = Wrote::Later(Timestamp::now() + wait);
                continue;
            }
            match self.objects.publish(self.term, registered, &bundle).await {
                Ok(()) => {
                    log(reason, &name, &registered.others);
                    self.observer.tell(&Event::Wrote(reason));
                    if reason != Reason::Published {
                        work.mends.push_back(Instant::now());
                    }
                    work.right.insert(name, bundle.clone());
                    wrote = Wrote::Something;
                }
                Err(failure) if failure.is_conflict() || failure.is_absence() => {
                    wrote = Wrote::Something;
                }
                // The other registrations are written all the same.
                Err(failure) => failed = failed.or(Some(failure)),
            }
        }
        match failed {
            Some(failure) => Err(failure),
            None => Ok(wrote),
        }
    }

    /// Why a registration lacks the right bundle. `right`: the bundle it had when it was last right.
    fn reason(
        &self,
        right: Option<&String>,
        registered: &Registered,
        state: &State,
        now: Timestamp,
    ) -> Reason {
        let as_it_was = |bundle: &Vec<u8>| match right {
            Some(right) => bundle == right.as_bytes(),
            None => bundle.is_empty(),
        };
        if registered.bundles.iter().all(as_it_was) {
            return Reason::Published;
        }
        let names = self.settings.policy.server_names();
        let verified = |bundle: &Vec<u8>| {
            state.leaf.as_ref().is_none_or(|leaf| {
                verifies(
                    leaf.certificate_pem(),
                    Bundle::new(bundle).roots(),
                    &names,
                    now,
                )
            })
        };
        match (registered.bundles.iter().all(verified), right) {
            (true, None) => Reason::Published,
            (true, Some(_)) => Reason::Differs,
            (false, _) => Reason::Unverified,
        }
    }
}

/// The outcome for the registrations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wrote {
    Nothing,
    Something,
    /// One is left as it is until then.
    Later(Timestamp),
}

fn log(reason: Reason, registration: &str, others: &[String]) {
    match reason {
        Reason::Published => tracing::info!(registration, "the caBundle is published"),
        Reason::Differs => {
            tracing::warn!(
                registration,
                ?others,
                "the caBundle had been changed: mended"
            );
        }
        Reason::Unverified => tracing::warn!(
            registration,
            ?others,
            "the caBundle did not verify our certificate, so calls failed: mended"
        ),
    }
}

// === impl Work ===

impl Work {
    /// Returns how long a registration is left as it is, if other clients write it all the time.
    fn is_a_fight(&mut self) -> Option<Duration> {
        while self.mends.front().is_some_and(|at| at.elapsed() > MENDS_IN) {
            self.mends.pop_front();
        }
        let first = *self.mends.front()?;
        (self.mends.len() >= MOST_MENDS).then(|| MENDS_IN.saturating_sub(first.elapsed()))
    }
}

#[cfg(test)]
mod tests;
