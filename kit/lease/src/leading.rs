//! The loop of a program that works whenever it leads.

use std::sync::Arc;
use std::time::Instant;

use berth_hub::HubApi;
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tracing::warn;

use crate::elector::{Claim, spawn};
use crate::params::{InvalidParams, LeaseParams};
use crate::term::Term;

/// What a program does after it has lost the leadership.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhenLost {
    /// It ends, as OCM's controllers do.
    End,
    /// It stands for election again.
    StandAgain,
}

/// The state of a program that does not work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Another process holds the Lease, or our term is lost and we stand for election again.
    Waiting,
    /// The work has ended, and the Lease is about to be released. Every clone of the [`Term`] must be dropped now.
    Stopped,
}

/// Why [`while_leading`] ended before `stop`.
#[derive(Debug, thiserror::Error)]
pub enum LeadingError<E> {
    /// The parameters are invalid.
    #[error(transparent)]
    Invalid(#[from] InvalidParams),
    /// A task that should run until it is stopped ended.
    #[error("the leader election ended unexpectedly")]
    Ended,
    /// The work failed. The Lease was released.
    #[error("{0}")]
    Work(E),
}

/// Stands for election, runs `work` in every term of this process, and releases the Lease.
///
/// `work` gets its term. It ends when [`Term::lost`] resolves or `stop` is cancelled, or earlier, and must not keep the term.
/// `tell` is called whenever the program begins to wait, and once at the end.
///
/// # Guarantees
/// - `work` is not run twice at a time, and never without a term.
/// - When this returns, no write of this process is under way, and the Lease has been released or the term is over.
///
/// # Errors
/// The parameters are invalid, the election ended before `stop`, or the work failed.
pub async fn while_leading<E, F: Future<Output = Result<(), E>>>(
    hub: &HubApi,
    params: LeaseParams,
    when_lost: WhenLost,
    stop: &CancellationToken,
    tell: impl FnMut(Phase),
    work: impl FnMut(Term) -> F,
) -> Result<(), LeadingError<E>> {
    let on = Handle::current();
    while_leading_on(&on, hub, params, when_lost, stop, tell, work).await
}

/// As [`while_leading`], with the election on another runtime: the Lease is renewed however long the work holds up its own.
///
/// Connections live on the runtime that opened them. So no other runtime may use those of `hub`.
///
/// # Errors
/// As [`while_leading`].
pub async fn while_leading_on<E, F: Future<Output = Result<(), E>>>(
    on: &Handle,
    hub: &HubApi,
    params: LeaseParams,
    when_lost: WhenLost,
    stop: &CancellationToken,
    mut tell: impl FnMut(Phase),
    work: impl FnMut(Term) -> F,
) -> Result<(), LeadingError<E>> {
    let resign = CancellationToken::new();
    let lease = format!("{}/{}", params.namespace, params.name);
    let (claims, elector) = spawn(on, hub.clone(), params, resign.clone())?;
    let result = campaign(claims, &lease, when_lost, stop, &mut tell, work).await;
    // The work has ended. The Lease is released when no clone of the term is left.
    tell(Phase::Stopped);
    resign.cancel();
    let ended = elector.await.map_err(|_| LeadingError::Ended);
    result.and(ended)
}

async fn campaign<E, F: Future<Output = Result<(), E>>>(
    mut claims: watch::Receiver<Arc<Claim>>,
    lease: &str,
    when_lost: WhenLost,
    stop: &CancellationToken,
    tell: &mut impl FnMut(Phase),
    mut work: impl FnMut(Term) -> F,
) -> Result<(), LeadingError<E>> {
    loop {
        let term = tokio::select! {
            // If both are ready, no work begins.
            biased;
            () = stop.cancelled() => return Ok(()),
            term = elected(&mut claims, tell) => term.ok_or(LeadingError::Ended)?,
        };
        work(term).await.map_err(LeadingError::Work)?;
        if stop.is_cancelled() {
            return Ok(());
        }
        match when_lost {
            WhenLost::End => {
                warn!(lease, "the leadership is lost: ending");
                return Ok(());
            }
            WhenLost::StandAgain => {
                warn!(lease, "the leadership is lost: standing for election again");
                tell(Phase::Waiting);
            }
        }
    }
}

/// Waits for a term of this process. `None`: the elector ended.
async fn elected(
    claims: &mut watch::Receiver<Arc<Claim>>,
    tell: &mut impl FnMut(Phase),
) -> Option<Term> {
    loop {
        let claim = Arc::clone(&claims.borrow_and_update());
        if let Some(term) = &claim.term
            && term.remaining(Instant::now()).is_some()
        {
            return Some(term.clone());
        }
        if !claim.holder.is_empty() {
            tell(Phase::Waiting);
        }
        drop(claim);
        claims.changed().await.ok()?;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::time::Duration;

    use tokio::time::sleep;

    use super::*;
    use crate::testing::FakeLeaseApi;

    fn params(identity: &str) -> LeaseParams {
        LeaseParams::new("hub", "lock", identity)
    }

    /// Does nothing until the term is over or the program is stopped, and counts.
    async fn works(
        hub: HubApi,
        when_lost: WhenLost,
        stop: CancellationToken,
        told: Arc<Mutex<Vec<String>>>,
    ) -> Result<(), LeadingError<String>> {
        let tell = |phase| told.lock().unwrap().push(format!("{phase:?}"));
        let work = |term: Term| {
            let (stop, told) = (&stop, &told);
            async move {
                told.lock().unwrap().push("Working".to_owned());
                tokio::select! {
                    () = term.lost() => {}
                    () = stop.cancelled() => {}
                }
                Ok(())
            }
        };
        while_leading(&hub, params("one"), when_lost, &stop, tell, work).await
    }

    #[tokio::test(start_paused = true)]
    async fn the_work_runs_in_a_term_and_the_lease_is_released() {
        let (hub, stop, told) = (
            FakeLeaseApi::default(),
            CancellationToken::new(),
            Arc::default(),
        );
        let task = tokio::spawn(works(
            hub.client("one"),
            WhenLost::StandAgain,
            stop.clone(),
            Arc::clone(&told),
        ));
        sleep(Duration::from_secs(60)).await;
        assert_eq!(hub.holder(), "one");
        stop.cancel();
        task.await.unwrap().unwrap();
        assert_eq!(*told.lock().unwrap(), ["Working", "Stopped"]);
        assert_eq!(hub.holder(), "", "released");
    }

    #[tokio::test(start_paused = true)]
    async fn a_lost_term_ends_the_program_or_has_it_stand_again() {
        for (when_lost, expected) in [
            (WhenLost::End, &["Working", "Stopped"][..]),
            (
                WhenLost::StandAgain,
                &["Working", "Waiting", "Working", "Stopped"][..],
            ),
        ] {
            let (hub, stop, told) = (
                FakeLeaseApi::default(),
                CancellationToken::new(),
                Arc::default(),
            );
            let task = tokio::spawn(works(
                hub.client("one"),
                when_lost,
                stop.clone(),
                Arc::clone(&told),
            ));
            sleep(Duration::from_secs(30)).await;
            hub.edit(|lease| lease["spec"]["holderIdentity"] = "two".into());
            sleep(Duration::from_secs(120)).await;
            stop.cancel();
            task.await.unwrap().unwrap();
            let told: Vec<_> = {
                let mut told = told.lock().unwrap().clone();
                told.dedup();
                told
            };
            assert_eq!(told, expected, "{when_lost:?}");
        }
    }

    #[test]
    fn an_election_on_another_runtime_renews_while_the_work_holds_up_its_own() {
        let elections = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let own = tokio::runtime::Builder::new_current_thread();
        let own = { own }.enable_all().build().unwrap();
        let hub = FakeLeaseApi::default();
        let api = hub.client("one");
        let params = LeaseParams {
            lease_duration: Duration::from_secs(2),
            renew_deadline: Duration::from_secs(1),
            retry_period: Duration::from_millis(50),
            ..params("one")
        };
        let work = |term: Term| {
            let hub = &hub;
            async move {
                let begun = tokio::time::Instant::now();
                // It does not yield.
                while hub.requests("one", begun).len() < 30 && begun.elapsed().as_secs() < 20 {
                    std::thread::sleep(Duration::from_millis(10));
                }
                let lasts = term.remaining(Instant::now()).is_some();
                let renewed = hub.requests("one", begun).len() >= 30;
                if lasts && renewed {
                    Ok(())
                } else {
                    Err("the Lease was not renewed")
                }
            }
        };
        let stop = CancellationToken::new();
        let on = elections.handle();
        let led = while_leading_on(on, &api, params, WhenLost::End, &stop, |_| {}, work);
        assert!(own.block_on(led).is_ok());
        assert_eq!(hub.holder(), "", "released");
    }

    #[tokio::test(start_paused = true)]
    async fn failed_work_releases_the_lease_and_is_told() {
        let hub = FakeLeaseApi::default();
        let work = |_| async { Err("it broke") };
        let stop = CancellationToken::new();
        let api = hub.client("one");
        let led = while_leading(
            &api,
            params("one"),
            WhenLost::StandAgain,
            &stop,
            |_| {},
            work,
        );
        assert!(matches!(led.await, Err(LeadingError::Work("it broke"))));
        assert_eq!(hub.holder(), "", "released");
    }
}
