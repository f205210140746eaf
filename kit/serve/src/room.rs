//! Memory for requests that are arriving or being answered, shared by all connections.
//!
//! Each request is charged for the bytes that it holds. When the memory does not suffice for the next piece of a body, a
//! request of the slowest sender is dropped. The slowest sender is the connection whose held bytes, over all its requests,
//! are the oldest. A client that sends the first half of many bodies and stops is the slowest after a few tenths of a
//! second, and its requests are dropped for those that go on. A request that is being answered is never dropped.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use crate::Payer;

/// Bytes that a request costs besides its body: its stream, its task, its buffers.
const REQUEST: usize = 16 * 1024;

/// After this time, bytes that have arrived count half as new.
const HALF_LIFE: Duration = Duration::from_millis(100);

/// A part of the memory, for requests of one size.
#[derive(Clone, Debug)]
pub(crate) struct Room(Arc<Mutex<Held>>);

#[derive(Debug)]
struct Held {
    /// All bytes, and those that are taken.
    size: usize,
    taken: usize,
    /// The largest number of requests that arrive at the same time.
    requests: usize,
    arriving: HashMap<u64, Arriving>,
    next: u64,
}

/// A request whose body is arriving.
#[derive(Debug)]
struct Arriving {
    payer: Payer,
    body: Vec<u8>,
    /// How many of its bytes counted as new at the time `at`.
    new: f64,
    at: Instant,
    gone: Arc<Notify>,
}

/// A body that is arriving. Its memory is free again when this is dropped.
#[derive(Debug)]
pub(crate) struct Arrival {
    room: Room,
    id: u64,
    gone: Arc<Notify>,
}

/// A share of the memory. Free again when this is dropped.
#[derive(Debug)]
pub(crate) struct Share {
    room: Room,
    bytes: usize,
}

/// The memory is used up, and no slower request holds any.
#[derive(Debug)]
pub(crate) struct Full;

// === impl Room ===

impl Room {
    /// Memory of `size` bytes, for at most `requests` requests that arrive at the same time.
    pub(crate) fn new(size: usize, requests: usize) -> Self {
        Self(Arc::new(Mutex::new(Held {
            size,
            taken: 0,
            requests,
            arriving: HashMap::new(),
            next: 0,
        })))
    }

    /// Begins to receive a request. If there are too many, the slowest one is dropped.
    pub(crate) fn begin(&self, payer: Payer, now: Instant) -> Result<Arrival, Full> {
        let mut held = self.lock();
        let id = held.next;
        held.next += 1;
        let gone = Arc::new(Notify::new());
        let arriving = Arriving {
            payer,
            body: Vec::new(),
            new: 0.0,
            at: now,
            gone: Arc::clone(&gone),
        };
        held.arriving.insert(id, arriving);
        let arrival = Arrival {
            room: self.clone(),
            id,
            gone,
        };
        while held.arriving.len() > held.requests {
            let slowest = held.slowest(now);
            if slowest == Some(id) || !held.let_go(slowest) {
                drop(held);
                return Err(Full);
            }
        }
        Ok(arrival)
    }

    /// A share for a request that arrived in one piece.
    pub(crate) fn share(&self, bytes: usize, now: Instant) -> Result<Share, Full> {
        self.lock().make_room(bytes, None, now)?;
        Ok(Share {
            room: self.clone(),
            bytes,
        })
    }

    fn lock(&self) -> MutexGuard<'_, Held> {
        // No code that holds this lock panics.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[cfg(test)]
    pub(crate) fn taken(&self) -> usize {
        self.lock().taken
    }
}

// === impl Held ===

impl Held {
    /// Takes bytes, if necessary from requests that are slower than `of`.
    fn make_room(&mut self, bytes: usize, of: Option<u64>, now: Instant) -> Result<(), Full> {
        while self.taken.saturating_add(bytes) > self.size {
            let slowest = self.slowest(now);
            if slowest.is_none() || slowest == of || bytes > self.size || !self.let_go(slowest) {
                return Err(Full);
            }
        }
        self.taken += bytes;
        Ok(())
    }

    /// The request that holds most, of the connection whose bytes are the oldest.
    fn slowest(&self, now: Instant) -> Option<u64> {
        let mut connections: HashMap<Payer, (f64, usize)> = HashMap::new();
        for arriving in self.arriving.values() {
            let (new, held) = connections.entry(arriving.payer).or_default();
            *new += arriving.new_at(now);
            *held += arriving.cost();
        }
        let share_that_is_new =
            |(_, (new, held)): &(Payer, (f64, usize))| (*new * 1e6) as usize / (*held).max(1);
        let (slowest, _) = connections.into_iter().min_by_key(share_that_is_new)?;
        self.arriving
            .iter()
            .filter(|(_, arriving)| arriving.payer == slowest)
            .max_by_key(|(id, arriving)| (arriving.body.len(), u64::MAX - **id))
            .map(|(id, _)| *id)
    }

    /// Drops a request: frees its memory, and wakes its receiver.
    fn let_go(&mut self, id: Option<u64>) -> bool {
        let Some(arriving) = id.and_then(|id| self.arriving.remove(&id)) else {
            return false;
        };
        self.taken -= arriving.body.len();
        arriving.gone.notify_one();
        true
    }
}

// === impl Arriving ===

impl Arriving {
    fn cost(&self) -> usize {
        self.body.len() + REQUEST
    }

    /// How many of its bytes count as new. A request without a body yet counts with what a request costs.
    fn new_at(&self, now: Instant) -> f64 {
        let age = now.saturating_duration_since(self.at).as_secs_f64();
        let begun = if self.body.is_empty() {
            REQUEST as f64
        } else {
            0.0
        };
        (self.new + begun) * (-age / HALF_LIFE.as_secs_f64()).exp2()
    }
}

// === impl Arrival ===

impl Arrival {
    /// Adds a piece of the body. If necessary, the slowest request is dropped for it.
    pub(crate) fn piece(&self, piece: &[u8], now: Instant) -> Result<(), Full> {
        let mut held = self.room.lock();
        if !held.arriving.contains_key(&self.id) {
            return Err(Full);
        }
        held.make_room(piece.len(), Some(self.id), now)?;
        let Some(arriving) = held.arriving.get_mut(&self.id) else {
            held.taken -= piece.len();
            return Err(Full);
        };
        arriving.new = arriving.new_at(now) + piece.len() as f64;
        arriving.at = now;
        arriving.body.extend_from_slice(piece);
        Ok(())
    }

    /// Completes when the request has been dropped for another.
    pub(crate) async fn let_go(&self) {
        self.gone.notified().await;
    }

    /// Bytes that have arrived.
    pub(crate) fn length(&self) -> usize {
        let held = self.room.lock();
        held.arriving
            .get(&self.id)
            .map_or(0, |arriving| arriving.body.len())
    }

    /// Ends a body that has arrived completely. `None` if it was dropped before.
    pub(crate) fn end(self) -> Option<(Vec<u8>, Share)> {
        let arriving = self.room.lock().arriving.remove(&self.id)?;
        let share = Share {
            room: self.room.clone(),
            bytes: arriving.body.len(),
        };
        Some((arriving.body, share))
    }

    /// Moves the body, as far as it has arrived, to another room.
    pub(crate) fn moved(self, to: &Room, now: Instant) -> Result<Self, Full> {
        let Some((payer, new, at)) = ({
            let held = self.room.lock();
            let arriving = held.arriving.get(&self.id);
            arriving.map(|arriving| (arriving.payer, arriving.new, arriving.at))
        }) else {
            return Err(Full);
        };
        let there = to.begin(payer, now)?;
        let Some((body, share)) = self.end() else {
            return Err(Full);
        };
        there.piece(&body, now)?;
        drop(share);
        if let Some(arriving) = to.lock().arriving.get_mut(&there.id) {
            (arriving.new, arriving.at) = (new, at);
        }
        Ok(there)
    }
}

impl Drop for Arrival {
    fn drop(&mut self) {
        let mut held = self.room.lock();
        if let Some(arriving) = held.arriving.remove(&self.id) {
            held.taken -= arriving.body.len();
        }
    }
}

// === impl Share ===

impl Share {
    /// Takes more, if need be from slow requests.
    pub(crate) fn grow(&mut self, bytes: usize, now: Instant) -> Result<(), Full> {
        self.room.lock().make_room(bytes, None, now)?;
        self.bytes += bytes;
        Ok(())
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.room.lock().taken -= self.bytes;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIB: usize = 1024;

    fn at(begun: Instant, milliseconds: u64) -> Instant {
        begun + Duration::from_millis(milliseconds)
    }

    /// Whether a body was let go.
    fn is_gone(arrival: &Arrival) -> bool {
        !arrival.room.lock().arriving.contains_key(&arrival.id)
    }

    #[test]
    fn who_sends_halves_makes_room_for_who_goes_on() {
        let begun = Instant::now();
        let room = Room::new(1024 * KIB, 100);
        let halves: Vec<_> = (0..4)
            .map(|i| {
                let arrival = room.begin(Payer(i), begun).unwrap();
                arrival.piece(&vec![b'x'; 256 * KIB], begun).unwrap();
                arrival
            })
            .collect();
        let now = at(begun, 300);
        let good = room.begin(Payer(9), now).unwrap();
        good.piece(&vec![b'x'; 200 * KIB], now).unwrap();
        assert_eq!(halves.iter().filter(|half| is_gone(half)).count(), 1);
        assert!(!is_gone(&good));
        drop((halves, good));
        assert_eq!(room.taken(), 0);
    }

    #[test]
    fn a_trickle_is_no_progress() {
        let begun = Instant::now();
        let room = Room::new(1024 * KIB, 100);
        let trickle = room.begin(Payer(1), begun).unwrap();
        trickle.piece(&vec![b'x'; 900 * KIB], begun).unwrap();
        for ms in 1..400 {
            trickle.piece(b"x", at(begun, ms)).unwrap();
        }
        let now = at(begun, 400);
        let good = room.begin(Payer(2), now).unwrap();
        for ms in 400..420 {
            good.piece(&vec![b'x'; 16 * KIB], at(begun, ms)).unwrap();
        }
        assert!(is_gone(&trickle));
        let (body, share) = good.end().unwrap();
        assert_eq!(body.len(), 320 * KIB);
        assert_eq!(room.taken(), 320 * KIB);
        drop(share);
        assert_eq!(room.taken(), 0);
    }

    #[test]
    fn a_connection_is_charged_for_all_its_requests() {
        let begun = Instant::now();
        let room = Room::new(1024 * KIB, 100);
        // One connection has many bodies; the last one of them makes progress.
        let many: Vec<_> = (0..8)
            .map(|_| {
                let arrival = room.begin(Payer(1), begun).unwrap();
                arrival.piece(&vec![b'x'; 100 * KIB], begun).unwrap();
                arrival
            })
            .collect();
        let one = room.begin(Payer(2), begun).unwrap();
        one.piece(&vec![b'x'; 100 * KIB], begun).unwrap();
        let now = at(begun, 200);
        many[7].piece(&vec![b'x'; 30 * KIB], now).unwrap();
        one.piece(&vec![b'x'; 30 * KIB], now).unwrap();
        let good = room.begin(Payer(3), now).unwrap();
        good.piece(&vec![b'x'; 200 * KIB], now).unwrap();
        assert!(
            many.iter().any(is_gone),
            "the many are the slowest together"
        );
        assert!(!is_gone(&one) && !is_gone(&good));
    }

    #[test]
    fn what_is_being_answered_is_never_let_go() {
        let begun = Instant::now();
        let room = Room::new(100 * KIB, 100);
        let whole = room.begin(Payer(1), begun).unwrap();
        whole.piece(&vec![b'x'; 90 * KIB], begun).unwrap();
        let (_body, share) = whole.end().unwrap();
        let later = at(begun, 60_000);
        let next = room.begin(Payer(2), later).unwrap();
        assert!(next.piece(&vec![b'x'; 20 * KIB], later).is_err());
        assert!(room.share(20 * KIB, later).is_err());
        drop(share);
        assert!(room.share(20 * KIB, later).is_ok());
    }

    #[test]
    fn requests_without_a_body_are_counted_too() {
        let begun = Instant::now();
        let room = Room::new(100 * KIB, 3);
        let silent: Vec<_> = (0..3)
            .map(|i| room.begin(Payer(i), begun).unwrap())
            .collect();
        let now = at(begun, 500);
        let good = room.begin(Payer(9), now).unwrap();
        assert_eq!(silent.iter().filter(|silent| is_gone(silent)).count(), 1);
        assert!(!is_gone(&good));
    }

    #[test]
    fn a_body_that_grows_moves_to_the_other_room() {
        let begun = Instant::now();
        let (small, large) = (Room::new(64 * KIB, 10), Room::new(512 * KIB, 10));
        let arrival = small.begin(Payer(1), begun).unwrap();
        arrival.piece(&vec![b'x'; 60 * KIB], begun).unwrap();
        let arrival = arrival.moved(&large, begun).unwrap();
        assert_eq!((small.taken(), large.taken()), (0, 60 * KIB));
        arrival.piece(&vec![b'y'; 60 * KIB], begun).unwrap();
        let (body, share) = arrival.end().unwrap();
        assert_eq!(body.len(), 120 * KIB);
        drop(share);
        assert_eq!(large.taken(), 0);
    }
}
