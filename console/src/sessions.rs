//! Sessions of browsers. Time and secrets come in as arguments.
//!
//! # Guarantees
//! - A code is traded once, within [`CODE_LIVES`]. A new code ends the one before. After [`MOST_WRONG`] wrong codes the code ends.
//! - A cookie after its end, or after the sign-out, is worth nothing.
//! - Only digests of secrets are kept, and they are compared in constant time.

use std::fmt;
use std::hint::black_box;
use std::time::{Duration, Instant};

use ring::digest::{SHA256, digest};

/// A code is worth nothing after this time.
pub(crate) const CODE_LIVES: Duration = Duration::from_secs(120);

/// A session ends after this time without a request.
pub(crate) const IDLE: Duration = Duration::from_secs(12 * 3600);

/// Upper bound on wrong codes before the code ends.
const MOST_WRONG: u32 = 5;

/// Upper bound on the sessions of a console of one user.
const MOST_SESSIONS: usize = 16;

/// Upper bound on the sessions of a user of a console of many.
const MOST_OF_USER: usize = 8;

/// Upper bound on the streams of a console of one user.
const MOST_STREAMS_OF_ALL: usize = 64;

/// Upper bound on the streams of a session.
const MOST_STREAMS: usize = 4;

/// Upper bounds on sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limits {
    /// Sessions. One more ends the one that was idle for longest.
    pub(crate) sessions: usize,
    /// Sessions of an owner. One more ends the owner's one that was idle for longest.
    pub(crate) of_owner: usize,
    /// Streams of all sessions.
    pub(crate) streams: usize,
}

/// A secret that opens or continues a session. Its text appears in no log.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Secret(String);

/// The sessions of a server, each with its user.
#[derive(Debug)]
pub(crate) struct Sessions<U> {
    limits: Limits,
    code: Option<Code>,
    sessions: Vec<Session<U>>,
    next: u64,
}

/// A session, for as long as it lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct SessionId(u64);

#[derive(Debug)]
struct Code {
    digest: Digest,
    until: Instant,
    wrong: u32,
}

#[derive(Debug)]
struct Session<U> {
    id: SessionId,
    user: U,
    owner: String,
    cookie: Digest,
    used: Instant,
    streams: usize,
}

/// A refused code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WrongCode;

/// A refused stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoStream {
    /// The session has [`MOST_STREAMS`].
    OfSession,
    /// The sessions have [`Limits::streams`].
    OfAll,
    /// The session has ended.
    SignedOut,
}

/// The SHA-256 of a secret.
#[derive(Clone)]
struct Digest([u8; 32]);

// === impl Sessions ===

impl<U: Clone> Sessions<U> {
    pub(crate) fn new(limits: Limits) -> Self {
        Self {
            limits,
            code: None,
            sessions: Vec::new(),
            next: 0,
        }
    }

    /// From now on this is the code.
    pub(crate) fn set_code(&mut self, code: &Secret, now: Instant) {
        self.code = Some(Code {
            digest: code.digest(),
            until: now + CODE_LIVES,
            wrong: 0,
        });
    }

    /// Trades the code, which is worth nothing then.
    ///
    /// # Errors
    /// The code is wrong, was traded, or is too old.
    pub(crate) fn trade(&mut self, code: &Secret, now: Instant) -> Result<(), WrongCode> {
        let kept = self.code.as_mut().ok_or(WrongCode)?;
        let is_right = kept.digest.is(&code.digest());
        if now >= kept.until {
            self.code = None;
            return Err(WrongCode);
        }
        if !is_right {
            kept.wrong += 1;
            if kept.wrong >= MOST_WRONG {
                self.code = None;
            }
            return Err(WrongCode);
        }
        self.code = None;
        Ok(())
    }

    /// Begins a session with this cookie. `owner` is the name of the user.
    pub(crate) fn begin(
        &mut self,
        cookie: &Secret,
        user: U,
        owner: &str,
        now: Instant,
    ) -> SessionId {
        self.end_idle(now);
        let of_owner = |it: &Session<U>| it.owner == owner;
        if self.sessions.iter().filter(|it| of_owner(it)).count() >= self.limits.of_owner {
            self.end_oldest(of_owner);
        }
        if self.sessions.len() >= self.limits.sessions {
            self.end_oldest(|_| true);
        }
        let id = SessionId(self.next);
        self.next += 1;
        self.sessions.push(Session {
            id,
            user,
            owner: owner.to_owned(),
            cookie: cookie.digest(),
            used: now,
            streams: 0,
        });
        id
    }

    /// Returns the session of a cookie, which is used now, and its user.
    pub(crate) fn of(&mut self, cookie: &Secret, now: Instant) -> Option<(SessionId, U)> {
        self.end_idle(now);
        let digest = cookie.digest();
        // All are compared, so that the time does not tell which one it is.
        let mut found = None;
        for session in &mut self.sessions {
            if session.cookie.is(&digest) {
                session.used = now;
                found = Some((session.id, session.user.clone()));
            }
        }
        found
    }

    /// Ends the one of these that was idle for longest. One without streams comes first.
    fn end_oldest(&mut self, is_one: impl Fn(&Session<U>) -> bool) {
        let sessions = self.sessions.iter().enumerate();
        let ones = sessions.filter(|(_, it)| is_one(it));
        let oldest = ones.min_by_key(|(_, it)| (it.streams > 0, it.used));
        if let Some((oldest, _)) = oldest {
            self.sessions.swap_remove(oldest);
        }
    }

    /// Returns true while the session lives.
    pub(crate) fn lives(&mut self, id: SessionId, now: Instant) -> bool {
        self.end_idle(now);
        self.sessions.iter().any(|it| it.id == id)
    }

    /// Returns the number of sessions, and of their streams.
    pub(crate) fn count(&mut self, now: Instant) -> (usize, usize) {
        self.end_idle(now);
        let streams = self.sessions.iter().map(|it| it.streams).sum();
        (self.sessions.len(), streams)
    }

    /// Ends a session.
    pub(crate) fn end(&mut self, id: SessionId) {
        self.sessions.retain(|it| it.id != id);
    }

    /// Counts a stream of a session, until [`Self::stream_ends`].
    ///
    /// # Errors
    /// There are too many.
    pub(crate) fn stream_begins(&mut self, id: SessionId) -> Result<(), NoStream> {
        let all: usize = self.sessions.iter().map(|it| it.streams).sum();
        let session = self.sessions.iter_mut().find(|it| it.id == id);
        let session = session.ok_or(NoStream::SignedOut)?;
        if session.streams >= MOST_STREAMS {
            return Err(NoStream::OfSession);
        }
        if all >= self.limits.streams {
            return Err(NoStream::OfAll);
        }
        session.streams += 1;
        Ok(())
    }

    /// A stream has ended. The session was in use until now.
    pub(crate) fn stream_ends(&mut self, id: SessionId, now: Instant) {
        if let Some(session) = self.sessions.iter_mut().find(|it| it.id == id) {
            session.streams -= 1;
            session.used = now;
        }
    }

    /// A session with an open stream is not idle.
    fn end_idle(&mut self, now: Instant) {
        self.sessions
            .retain(|it| it.streams > 0 || now.saturating_duration_since(it.used) < IDLE);
    }
}

// === impl Limits ===

impl Limits {
    /// The sessions of one user on the user's machine.
    pub(crate) const OF_ONE_USER: Self = Self {
        sessions: MOST_SESSIONS,
        of_owner: MOST_SESSIONS,
        streams: MOST_STREAMS_OF_ALL,
    };

    /// The sessions of a server of many users.
    pub(crate) fn of_many(sessions: usize) -> Self {
        Self {
            sessions,
            of_owner: MOST_OF_USER,
            streams: sessions.saturating_mul(MOST_STREAMS),
        }
    }
}

// === impl Secret ===

impl Secret {
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }

    /// Compares in a time that does not depend on the texts.
    pub(crate) fn is(&self, other: &Self) -> bool {
        self.digest().is(&other.digest())
    }

    fn digest(&self) -> Digest {
        let mut bytes = [0; 32];
        bytes.copy_from_slice(digest(&SHA256, self.0.as_bytes()).as_ref());
        Digest(bytes)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

// === impl Digest ===

impl Digest {
    /// Takes the same time for all digests.
    fn is(&self, other: &Self) -> bool {
        let pairs = self.0.iter().zip(other.0.iter());
        black_box(pairs.fold(0, |all, (a, b)| black_box(all | (a ^ b)))) == 0
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Digest")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn secret(text: &str) -> Secret {
        Secret::new(text)
    }

    #[test]
    fn a_code_is_traded_once_and_in_time() {
        let start = Instant::now();
        let mut sessions: Sessions<()> = Sessions::new(Limits::OF_ONE_USER);
        let code = secret("code");
        assert_eq!(sessions.trade(&code, start), Err(WrongCode));
        sessions.set_code(&code, start);
        assert_eq!(sessions.trade(&code, start), Ok(()));
        assert_eq!(sessions.trade(&code, start), Err(WrongCode));
        // Too old.
        sessions.set_code(&code, start);
        let late = start + CODE_LIVES;
        assert_eq!(sessions.trade(&code, late), Err(WrongCode));
        // Replaced.
        sessions.set_code(&code, start);
        sessions.set_code(&secret("new"), start);
        assert_eq!(sessions.trade(&code, start), Err(WrongCode));
        assert!(sessions.trade(&secret("new"), start).is_ok());
    }

    #[test]
    fn a_few_wrong_codes_end_the_code() {
        let now = Instant::now();
        let mut sessions: Sessions<()> = Sessions::new(Limits::OF_ONE_USER);
        let code = secret("code");
        for (tries, expected) in [(MOST_WRONG - 1, true), (MOST_WRONG, false)] {
            sessions.set_code(&code, now);
            for _ in 0..tries {
                assert_eq!(sessions.trade(&secret("x"), now), Err(WrongCode));
            }
            assert_eq!(sessions.trade(&code, now).is_ok(), expected);
        }
    }

    #[test]
    fn a_session_ends_by_sign_out_and_by_idleness() {
        let start = Instant::now();
        let mut sessions = Sessions::new(Limits::OF_ONE_USER);
        let sign_in = |sessions: &mut Sessions<&'static str>, name: &'static str| {
            sessions.begin(&secret(name), name, "ada", start)
        };
        let first = sign_in(&mut sessions, "a");
        sessions.end(first);
        assert_eq!(sessions.of(&secret("a"), start), None);
        assert!(!sessions.lives(first, start));
        let second = sign_in(&mut sessions, "b");
        let almost = start + IDLE - SECOND;
        assert_eq!(sessions.of(&secret("b"), almost), Some((second, "b")));
        assert_eq!(sessions.of(&secret("b"), almost + IDLE), None);
        // An open stream keeps it.
        let third = sign_in(&mut sessions, "c");
        sessions.stream_begins(third).unwrap();
        assert_eq!(
            sessions.of(&secret("c"), start + 2 * IDLE),
            Some((third, "c"))
        );
        assert_eq!(sessions.of(&secret("other"), start), None);
    }

    #[test]
    fn sessions_and_streams_are_bounded() {
        let start = Instant::now();
        let mut sessions = Sessions::new(Limits::OF_ONE_USER);
        let mut ids = Vec::new();
        const LIMITS: Limits = Limits::OF_ONE_USER;
        for at in 0..=LIMITS.sessions {
            let now = start + SECOND * u32::try_from(at).unwrap();
            ids.push(sessions.begin(&secret(&at.to_string()), (), "ada", now));
        }
        // The one that was idle for longest has ended.
        assert!(!sessions.lives(ids[0], start));
        assert!(sessions.lives(ids[1], start));
        assert_eq!(sessions.stream_begins(ids[0]), Err(NoStream::SignedOut));
        for id in &ids[1..] {
            for _ in 0..MOST_STREAMS {
                sessions.stream_begins(*id).unwrap();
            }
        }
        assert_eq!(sessions.stream_begins(ids[1]), Err(NoStream::OfSession));
        assert_eq!(LIMITS.sessions * MOST_STREAMS, LIMITS.streams);
        sessions.stream_ends(ids[1], start);
        assert_eq!(sessions.stream_begins(ids[1]), Ok(()));
    }

    #[test]
    fn a_user_ends_sessions_of_its_own_only() {
        let start = Instant::now();
        let mut sessions = Sessions::new(Limits::of_many(10));
        let bob = sessions.begin(&secret("bob"), (), "bob", start);
        let mut ids = Vec::new();
        for at in 0..20 {
            let now = start + SECOND * (at + 1);
            let id = sessions.begin(&secret(&at.to_string()), (), "eve", now);
            // The first one has a page open, so the others end before it.
            if at == 0 {
                sessions.stream_begins(id).unwrap();
            }
            ids.push(id);
        }
        let now = start + SECOND * 30;
        assert!(sessions.lives(bob, now));
        assert!(sessions.lives(ids[0], now));
        assert_eq!(sessions.count(now), (9, 1));
        let living = ids.into_iter().filter(|it| sessions.lives(*it, now));
        assert_eq!(living.count(), 8);
    }

    #[test]
    fn no_secret_is_in_a_debug_output() {
        let mut sessions: Sessions<()> = Sessions::new(Limits::OF_ONE_USER);
        sessions.set_code(&secret("s3cr3t"), Instant::now());
        let text = format!("{:?} {sessions:?}", secret("s3cr3t"));
        assert!(!text.contains("s3cr3t"), "{text}");
    }
}
