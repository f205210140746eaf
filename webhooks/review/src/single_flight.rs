//! Merges identical concurrent questions into one call.

use std::collections::HashMap;
use std::future::Future;
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::task::TaskTracker;

/// The time after its start in which callers can join a flight. Later callers start a new one: their answer must be recent,
/// and a flight that hangs must not delay every retry.
const BOARDING: Duration = Duration::from_secs(1);

/// Runs one task for all callers with the same key at the same time.
///
/// # Guarantees
/// - A caller that stops waiting does not affect others: the task runs while a caller waits for it, and is dropped then. So
///   it needs no timeout of its own.
/// - Callers share an answer only if they asked before it arrived, and at most [`BOARDING`] after the first caller. Answers
///   are not cached.
/// - If the task ends without an answer, the callers get `None`.
#[derive(Debug)]
pub(crate) struct SingleFlight<K, V> {
    boarding: Boarding<K, V>,
    tasks: TaskTracker,
}

/// The last flight to each key.
type Boarding<K, V> = Arc<Mutex<HashMap<K, Arc<Flight<V>>>>>;

#[derive(Debug)]
struct Flight<V> {
    departed: Instant,
    /// Callers subscribe only with the lock on the list of flights.
    landing: watch::Sender<Option<V>>,
}

impl<K, V> SingleFlight<K, V>
where
    K: Clone + Eq + Hash + Send + Sync + 'static,
    V: Clone + Send + Sync + 'static,
{
    pub(crate) fn new() -> Self {
        Self {
            boarding: Arc::default(),
            tasks: TaskTracker::new(),
        }
    }

    /// Returns the answer for `key`, from the current flight or from a new one.
    pub(crate) async fn run<F>(&self, key: K, fly: impl FnOnce() -> F) -> Option<V>
    where
        F: Future<Output = V> + Send + 'static,
    {
        let mut landed = self.join(key, fly);
        landed.wait_for(Option::is_some).await.ok()?.clone()
    }

    fn join<F>(&self, key: K, fly: impl FnOnce() -> F) -> watch::Receiver<Option<V>>
    where
        F: Future<Output = V> + Send + 'static,
    {
        // Code under this lock cannot panic.
        let mut boarding = self.boarding.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(flight) = boarding.get(&key)
            && flight.departed.elapsed() < BOARDING
        {
            return flight.landing.subscribe();
        }
        let flight = Arc::new(Flight {
            departed: Instant::now(),
            landing: watch::Sender::new(None),
        });
        let landed = flight.landing.subscribe();
        boarding.insert(key.clone(), Arc::clone(&flight));
        // Unlock first: a panic, or a runtime that is shut down, drops `listed`, which takes the lock.
        drop(boarding);
        let listed = Listed {
            boarding: Arc::clone(&self.boarding),
            key,
            flight,
        };
        // Boxed, because the future is large and would be moved several times.
        let future = Box::pin(fly());
        self.tasks.spawn(async move {
            let answer = tokio::select! {
                answer = future => answer,
                () = listed.deserted() => return,
            };
            let flight = Arc::clone(&listed.flight);
            // Leave the list first: later callers need a new answer.
            drop(listed);
            flight.landing.send_replace(Some(answer));
        });
        landed
    }
}

/// Removes a flight from the list when it ends, even by a panic or the end of the runtime.
struct Listed<K: Eq + Hash, V> {
    boarding: Boarding<K, V>,
    key: K,
    flight: Arc<Flight<V>>,
}

impl<K: Eq + Hash, V> Listed<K, V> {
    /// Waits until no caller waits any more, and removes the flight from the list, so that no caller can join it.
    async fn deserted(&self) {
        loop {
            self.flight.landing.closed().await;
            let mut boarding = self.boarding.lock().unwrap_or_else(PoisonError::into_inner);
            if self.flight.landing.receiver_count() == 0 {
                self.leave(&mut boarding);
                return;
            }
        }
    }

    /// Removes this flight, but not a later one with the same key.
    fn leave(&self, boarding: &mut HashMap<K, Arc<Flight<V>>>) {
        let own = |flight: &Arc<Flight<V>>| Arc::ptr_eq(flight, &self.flight);
        if boarding.get(&self.key).is_some_and(own) {
            boarding.remove(&self.key);
        }
    }
}

impl<K: Eq + Hash, V> Drop for Listed<K, V> {
    fn drop(&mut self) {
        let mut boarding = self.boarding.lock().unwrap_or_else(PoisonError::into_inner);
        self.leave(&mut boarding);
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use tokio::time::{sleep, timeout};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn identical_questions_in_flight_are_asked_once() {
        let flights = SingleFlight::new();
        let asked = Arc::new(AtomicUsize::new(0));
        let ask = || {
            let asked = Arc::clone(&asked);
            async move {
                sleep(Duration::from_secs(1)).await;
                asked.fetch_add(1, Ordering::SeqCst) + 1
            }
        };
        let (a, b, c) = tokio::join!(
            flights.run("k", ask),
            flights.run("k", ask),
            flights.run("other", ask)
        );
        assert_eq!((a, b), (a, a));
        assert!(c.is_some());
        assert_eq!(asked.load(Ordering::SeqCst), 2, "one for each question");
        flights.run("k", ask).await;
        assert_eq!(asked.load(Ordering::SeqCst), 3, "an answer is not kept");
        assert!(flights.boarding.lock().unwrap().is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn a_caller_that_gives_up_does_not_take_the_answer_away() {
        let flights = Arc::new(SingleFlight::new());
        let slow = || async {
            sleep(Duration::from_secs(5)).await;
            7
        };
        let leader = timeout(Duration::from_secs(1), flights.run("k", slow));
        let follower = flights.run("k", || async { unreachable!("a flight is under way") });
        let (leader, follower) = tokio::join!(leader, follower);
        assert!(leader.is_err(), "the leader gave up");
        assert_eq!(follower, Some(7));
    }

    #[tokio::test(start_paused = true)]
    async fn a_flight_without_waiting_callers_is_dropped() {
        let flights = SingleFlight::<_, ()>::new();
        let alive = Arc::new(());
        let held = Arc::clone(&alive);
        let hang = move || async move {
            let _held = held;
            pending::<()>().await;
        };
        let first = timeout(Duration::from_millis(100), flights.run("k", hang));
        let second = timeout(
            Duration::from_millis(200),
            flights.run("k", || async { unreachable!("a flight is under way") }),
        );
        let (first, second) = tokio::join!(first, second);
        assert!(first.is_err() && second.is_err());
        sleep(Duration::from_millis(1)).await;
        assert_eq!(Arc::strong_count(&alive), 1, "the hanging task is gone");
        assert!(flights.boarding.lock().unwrap().is_empty());
        assert!(
            flights.run("k", || async {}).await.is_some(),
            "the next one flies anew"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_late_caller_does_not_join_a_flight_that_hangs() {
        let flights = Arc::new(SingleFlight::new());
        let hanging = flights.run("k", || async {
            sleep(Duration::from_secs(20)).await;
            1
        });
        let late = async {
            sleep(BOARDING).await;
            let slow = || async {
                sleep(Duration::from_secs(30)).await;
                2
            };
            flights.run("k", slow).await
        };
        let latest = async {
            // The hanging flight has landed, and left the later one on the list.
            sleep(BOARDING + Duration::from_millis(500)).await;
            let joined = flights.run("k", || async { unreachable!("a flight is under way") });
            joined.await
        };
        let (hanging, late, latest) = tokio::join!(hanging, late, latest);
        assert_eq!((hanging, late, latest), (Some(1), Some(2), Some(2)));
        assert!(flights.boarding.lock().unwrap().is_empty());
    }

    #[tokio::test]
    async fn a_flight_that_ends_without_an_answer_tells_its_callers() {
        let flights = SingleFlight::<_, ()>::new();
        assert_eq!(
            flights
                .run("k", || async { panic!("as a bug would") })
                .await,
            None
        );
        assert!(flights.boarding.lock().unwrap().is_empty());
    }

    #[tokio::test]
    async fn a_flight_that_cannot_start_blocks_no_caller() {
        let flights = Arc::new(SingleFlight::<_, ()>::new());
        let own = Arc::clone(&flights);
        let run = async move {
            let fly = || -> std::future::Ready<()> { panic!("as a bug would") };
            own.run("k", fly).await
        };
        assert!(tokio::spawn(run).await.is_err());
        assert!(flights.run("k", || async {}).await.is_some());

        // The runtime ends, and drops the task that it is given.
        let own = Arc::clone(&flights);
        let ended = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().build();
            let runtime = runtime.unwrap();
            let handle = runtime.handle().clone();
            drop(runtime);
            let _entered = handle.enter();
            let mut landed = own.join("k", || async {});
            landed.borrow_and_update().is_none()
        });
        assert!(ended.join().unwrap());
        assert!(flights.boarding.lock().unwrap().is_empty());
    }
}
