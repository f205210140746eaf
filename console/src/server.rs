//! A server: which requests it answers, its sessions, and whose hub each session sees.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use ring::rand::{SecureRandom, SystemRandom};
use tokio::sync::watch;

use crate::app::App;
use crate::guard::Guard;
use crate::live::Tasks;
use crate::sessions::{Secret, SessionId, Sessions};

/// Bytes of a code and of a cookie.
const SECRET_BYTES: usize = 24;

/// A server.
#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) guard: Guard,
    /// The name of the cookie. Cookies do not tell ports apart, so it has a random end.
    pub(crate) cookie: String,
    /// The user of the kubeconfig, who is the user of all sessions.
    user: Arc<App>,
    sessions: Mutex<Sessions<Arc<App>>>,
    /// Counts the ends of sessions.
    pub(crate) session_ends: watch::Sender<u64>,
    pub(crate) tasks: Tasks,
}

// === impl Server ===

impl Server {
    /// # Errors
    /// The system has no random numbers.
    pub(crate) fn new(guard: Guard, user: Arc<App>, tasks: Tasks) -> anyhow::Result<Arc<Self>> {
        Ok(Arc::new(Self {
            guard,
            cookie: format!("berth-console-{}", random(6)?.reveal()),
            user,
            sessions: Mutex::default(),
            session_ends: watch::Sender::new(0),
            tasks,
        }))
    }

    pub(crate) fn sessions(&self) -> MutexGuard<'_, Sessions<Arc<App>>> {
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

    /// Trades the one-time code for a session, and returns the secret of its cookie; `None` if the code is wrong or too old.
    ///
    /// # Errors
    /// The system has no random numbers.
    pub(crate) fn trade(&self, code: &Secret) -> anyhow::Result<Option<Secret>> {
        let now = Instant::now();
        if self.sessions().trade(code, now).is_err() {
            return Ok(None);
        }
        let cookie = random(SECRET_BYTES)?;
        self.sessions().begin(&cookie, Arc::clone(&self.user), now);
        Ok(Some(cookie))
    }

    /// Ends a session, and its streams.
    pub(crate) fn sign_out(&self, session: SessionId) {
        self.sessions().end(session);
        self.session_ends
            .send_modify(|count| *count = count.wrapping_add(1));
    }
}

fn random(bytes: usize) -> anyhow::Result<Secret> {
    let mut random = vec![0; bytes];
    SystemRandom::new()
        .fill(&mut random)
        .map_err(|_| anyhow::anyhow!("the system has no random numbers"))?;
    Ok(Secret::new(BASE64_URL_SAFE_NO_PAD.encode(random)))
}
