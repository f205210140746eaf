//! A server: which requests it answers, its sessions, and whose hub each session sees.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use http::request::Parts;
use jiff::Timestamp;
use tokio::sync::{Semaphore, watch};

use crate::answers::Way;
use crate::app::App;
use crate::cookie::Cookie;
use crate::entry::Entry;
use crate::guard::Guard;
use crate::live::Tasks;
use crate::metrics::Metrics;
use crate::random::random;
use crate::respond::Refused;
use crate::sessions::{Limits, Secret, SessionId, Sessions};

/// Bytes of a code and of a cookie.
const SECRET_BYTES: usize = 24;

/// Upper bound on sign-ins whose token the hub is asked about at the same time. Everybody can begin one.
const AT_ONCE: usize = 16;

/// A server.
#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) guard: Guard,
    pub(crate) cookie: Cookie,
    pub(crate) entry: Entry,
    pub(crate) metrics: Metrics,
    sessions: Mutex<Sessions<Visitor>>,
    /// Counts the ends of sessions.
    pub(crate) session_ends: watch::Sender<u64>,
    pub(crate) asking: Semaphore,
    pub(crate) tasks: Tasks,
}

/// The user of a session.
#[derive(Clone, Debug)]
pub(crate) struct Visitor {
    pub(crate) app: Arc<App>,
    pub(crate) way: Way,
    /// When the token ends, if it says so.
    pub(crate) until: Arc<Mutex<Option<Timestamp>>>,
}

// === impl Server ===

impl Server {
    pub(crate) fn new(
        guard: Guard,
        cookie: Cookie,
        entry: Entry,
        limits: Limits,
        tasks: Tasks,
    ) -> Arc<Self> {
        Arc::new(Self {
            guard,
            cookie,
            entry,
            metrics: Metrics::default(),
            sessions: Mutex::new(Sessions::new(limits)),
            session_ends: watch::Sender::new(0),
            asking: Semaphore::new(AT_ONCE),
            tasks,
        })
    }

    pub(crate) fn sessions(&self) -> MutexGuard<'_, Sessions<Visitor>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes a new one-time code, and returns the address with it. The code is in the fragment, which browsers send to no server.
    ///
    /// # Errors
    /// The system has no random numbers.
    pub(crate) fn new_address(&self) -> anyhow::Result<String> {
        let code = random(SECRET_BYTES)?;
        self.sessions().set_code(&code, Instant::now());
        Ok(format!("{}/#code={}", self.guard.origin(), code.reveal()))
    }

    /// Returns the session of a request, and its user.
    ///
    /// # Errors
    /// There is no session, or the proxy names no user.
    pub(crate) fn session_of(&self, request: &Parts) -> Result<(SessionId, Visitor), Refused> {
        let now = Instant::now();
        let Entry::Proxy(proxy) = &self.entry else {
            let cookie = self.cookie.read(&request.headers).map(Secret::new);
            let session = cookie.and_then(|it| self.sessions().of(&it, now));
            return session.ok_or_else(|| self.not_signed_in());
        };
        let named = proxy.named(&request.headers)?;
        // The user is the key: no cookie is needed, and none is worth anything.
        let key = named.key();
        let mut sessions = self.sessions();
        if let Some(session) = sessions.of(&key, now) {
            return Ok(session);
        }
        let (hub, owner) = proxy.hub_of(&named)?;
        let user = Visitor::new(
            App::new(hub, proxy.settings(), self.tasks.child()),
            Way::Proxy,
        );
        let id = sessions.begin(&key, user.clone(), &owner, now);
        drop(sessions);
        self.ended();
        Ok((id, user))
    }

    /// Begins a session, and returns the secret of its cookie. A session that the browser had before ends.
    ///
    /// # Errors
    /// The system has no random numbers.
    pub(crate) fn begin(
        &self,
        before: Option<&str>,
        user: Visitor,
        owner: &str,
    ) -> anyhow::Result<(SessionId, Secret)> {
        let (now, cookie) = (Instant::now(), random(SECRET_BYTES)?);
        let before = before.and_then(|it| self.sessions().of(&Secret::new(it), now));
        if let Some((before, _)) = before {
            self.end(before);
        }
        let id = self.sessions().begin(&cookie, user, owner, now);
        self.ended();
        Ok((id, cookie))
    }

    /// Ends a session, its streams, and what was followed for it.
    pub(crate) fn end(&self, session: SessionId) {
        self.sessions().end(session);
        self.ended();
    }

    /// Tells those that wait for an end to look whether their session lives. Sessions end by themselves, too: those that are idle, and one
    /// for which another begins. Never called while [`Self::sessions`] is locked: they look there.
    fn ended(&self) {
        self.session_ends
            .send_modify(|count| *count = count.wrapping_add(1));
    }

    /// The refusal of a request without a session.
    pub(crate) fn not_signed_in(&self) -> Refused {
        Refused::not_signed_in(self.entry.remedy())
    }
}

// === impl Visitor ===

impl Visitor {
    pub(crate) fn new(app: Arc<App>, way: Way) -> Self {
        Self {
            app,
            way,
            until: Arc::default(),
        }
    }

    pub(crate) fn until(&self) -> Option<Timestamp> {
        *self.until.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The hub has accepted a token that ends then. If it has ended by the clock here, this clock is wrong, and the hub says when it ends.
    pub(crate) fn set_until(&self, until: Option<Timestamp>) {
        let until = until.filter(|it| *it > Timestamp::now());
        *self.until.lock().unwrap_or_else(PoisonError::into_inner) = until;
    }
}
