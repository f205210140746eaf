//! What the user may do, from SelfSubjectAccessReviews. Answers are kept for a short time, since many screens ask the same.

mod rbac;

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use berth_admin::answers::{Failure, Hub, Lack};
use berth_rules::Permission;
pub(crate) use rbac::{READS, Rbac};

use crate::answers::{Act, Missing, Text};
use crate::screens::offers::{Lacks, Target};

/// An answer is used this long.
const FRESH: Duration = Duration::from_secs(30);

/// Upper bound on the answers that are kept.
const MOST_KEPT: usize = 1000;

/// A right on the cluster or set of this name, or on all of them without one; or by RBAC.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Right {
    /// What the gate asks for.
    Gate(Permission),
    /// What RBAC alone decides.
    Rbac(Rbac),
}

/// A permission of the gate, by its object.
type OfGate = fn(&str) -> Permission;

/// The rights of the user.
#[derive(Debug)]
pub(crate) struct Rights {
    hub: Hub,
    known: Mutex<Known>,
}

/// The user's name and groups; None if the hub does not tell.
pub(crate) type User = Option<(String, Vec<String>)>;

/// Answers of the hub, and when it gave them.
#[derive(Debug, Default)]
struct Known {
    rights: HashMap<Right, (Instant, Option<Missing>)>,
    user: Option<(Instant, User)>,
}

// === impl Right ===

impl Right {
    /// What the gate asks for: a permission on one object, or on all without a name.
    pub(crate) fn gate(of: OfGate, name: Option<&str>) -> Self {
        let mut permission = of(name.unwrap_or_default());
        permission.name = name.map(str::to_owned);
        Self::Gate(permission)
    }
}

// === impl Rights ===

impl Rights {
    pub(crate) fn new(hub: Hub) -> Self {
        Self {
            hub,
            known: Mutex::default(),
        }
    }

    /// Returns the user of the kubeconfig, as the hub knows the user.
    ///
    /// # Errors
    /// Those of the hub.
    pub(crate) async fn user(&self) -> Result<User, Failure> {
        let now = Instant::now();
        if let Some((asked, user)) = &self.lock().user
            && now.duration_since(*asked) < FRESH
        {
            return Ok(user.clone());
        }
        let user = self.hub.user().await?;
        self.lock().user = Some((now, user.clone()));
        Ok(user)
    }

    /// Returns what the user lacks; `None` if the user has the right.
    ///
    /// # Errors
    /// Those of the hub.
    pub(crate) async fn lacks(&self, right: Right) -> Result<Option<Missing>, Failure> {
        let now = Instant::now();
        if let Some((asked, missing)) = self.lock().rights.get(&right)
            && now.duration_since(*asked) < FRESH
        {
            return Ok(missing.clone());
        }
        let user = self.user().await.ok().flatten();
        let user = user.map_or_else(|| "USER".to_owned(), |(user, _)| user);
        let missing = self.ask(&right, &user).await?;
        let rights = &mut self.lock().rights;
        if rights.len() >= MOST_KEPT {
            rights.clear();
        }
        rights.insert(right, (now, missing.clone()));
        Ok(missing)
    }

    /// Returns what the user lacks for actions on a cluster. What the hub does not answer counts as lacking nothing: the hub decides about
    /// the action itself.
    pub(crate) async fn lacks_on(&self, name: &str, read_only: bool) -> Lacks {
        let accept = self.lacks_of(|name| Right::gate(Permission::accept, name), name);
        let change = self.lacks_of(|name| Rbac::change(name).into(), name);
        let (accept, change) = futures::join!(accept, change);
        Lacks {
            accept,
            change,
            read_only,
        }
    }

    /// Returns what the user lacks for an action that was refused.
    pub(crate) async fn missing_for(&self, act: Act, target: Target<'_>) -> Option<Missing> {
        match target {
            Target::Cluster(name) => self.lacks_on(name, false).await.of(act).cloned(),
            Target::ReplicaSet(namespace, name) => {
                let right = Rbac::rollout(namespace, Some(name));
                self.lacks(right.into()).await.ok().flatten()
            }
        }
    }

    async fn lacks_of(&self, right: fn(Option<&str>) -> Right, name: &str) -> Option<Missing> {
        // Most admins may act on all clusters: then one answer serves all names.
        match self.lacks(right(None)).await {
            Ok(None) => None,
            _ => self.lacks(right(Some(name))).await.ok().flatten(),
        }
    }

    /// Forgets what the hub answered, since it has refused something.
    pub(crate) fn forget(&self) {
        *self.lock() = Known::default();
    }

    async fn ask(&self, right: &Right, user: &str) -> Result<Option<Missing>, Failure> {
        match right {
            Right::Gate(permission) => {
                let lack = self.hub.lacks(permission, user).await?;
                Ok(lack.map(Missing::from))
            }
            Right::Rbac(it) => {
                let namespace = it.namespace.as_deref().unwrap_or_default();
                let name = it.name.as_deref().unwrap_or_default();
                let may = self.hub.may(it.verb, it.kind, namespace, name).await?;
                Ok((!may).then(|| it.missing(user)))
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl From<Rbac> for Right {
    fn from(right: Rbac) -> Self {
        Self::Rbac(right)
    }
}

impl From<Lack> for Missing {
    fn from(lack: Lack) -> Self {
        Self {
            permission: lack.permission.into(),
            role: lack.role.map(Text::from),
            command: lack.command.into(),
        }
    }
}
