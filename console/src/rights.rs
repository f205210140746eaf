//! What the user may do, from SelfSubjectAccessReviews. Answers are kept for a short time, since many screens ask the same.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use berth_admin::answers::{Failure, Hub, Lack};
use berth_api::groups;
use berth_rules::Permission;
use berth_rules::display::{Flag, Quoted, ShellWord};

use crate::answers::{Act, Missing, Text};
use crate::screens::offers::{Lacks, Target};

/// An answer is used this long.
const FRESH: Duration = Duration::from_secs(30);

/// Upper bound on the answers that are kept.
const MOST_KEPT: usize = 1000;

/// The smallest role of an installation that may change clusters.
const CHANGES: &str = "open-cluster-management:berth:accept";

/// The smallest role of an installation that may change placements. Kubernetes' role edit contains it.
const EDITS: &str = "open-cluster-management:berth:edit";

/// The smallest role of an installation that may change rollouts.
const WORK_EDITS: &str = "open-cluster-management:berth:work-edit";

/// A right on one cluster, or on all of them if the name is empty; or in a namespace.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Right {
    /// To accept and to deny it, as the gate asks.
    Accept(String),
    /// To change it, by RBAC.
    Change(String),
    /// To move clusters into the set, as the gate asks.
    Join(String),
    /// To bind the set, as the gate asks.
    Bind(String),
    /// To replace the placements of a namespace, by RBAC.
    Placements(String),
    /// To change the ManifestWorkReplicaSet of this namespace and name, by RBAC.
    Rollout(String, String),
}

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
        let accept = self.lacks_of(Right::Accept, name);
        let change = self.lacks_of(Right::Change, name);
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
                let right = Right::Rollout(namespace.to_owned(), name.to_owned());
                self.lacks(right).await.ok().flatten()
            }
        }
    }

    async fn lacks_of(&self, right: fn(String) -> Right, name: &str) -> Option<Missing> {
        // Most admins may act on all clusters: then one answer serves all names.
        match self.lacks(right(String::new())).await {
            Ok(None) => None,
            _ => self.lacks(right(name.to_owned())).await.ok().flatten(),
        }
    }

    /// Forgets what the hub answered, since it has refused something.
    pub(crate) fn forget(&self) {
        *self.lock() = Known::default();
    }

    async fn ask(&self, right: &Right, user: &str) -> Result<Option<Missing>, Failure> {
        match right {
            Right::Accept(name) => {
                let mut permission = Permission::accept(name);
                if name.is_empty() {
                    permission.name = None;
                }
                self.ask_gate(&permission, user).await
            }
            Right::Join(set) => self.ask_gate(&Permission::join(set), user).await,
            Right::Bind(set) => self.ask_gate(&Permission::bind(set), user).await,
            Right::Change(name) => {
                let resource = (groups::CLUSTER, groups::MANAGED_CLUSTERS);
                let may = self.hub.may("patch", resource, "", name).await?;
                Ok((!may).then(|| Missing::of_change(name, user)))
            }
            Right::Placements(namespace) => {
                let resource = (groups::CLUSTER, groups::PLACEMENTS);
                let may = self.hub.may("update", resource, namespace, "").await?;
                Ok((!may).then(|| Missing::of_placements(namespace, user)))
            }
            Right::Rollout(namespace, name) => {
                let resource = (groups::WORK, groups::MANIFEST_WORK_REPLICA_SETS);
                let may = self.hub.may("patch", resource, namespace, name).await?;
                Ok((!may).then(|| Missing::of_rollout(namespace, name, user)))
            }
        }
    }

    async fn ask_gate(
        &self,
        permission: &Permission,
        user: &str,
    ) -> Result<Option<Missing>, Failure> {
        let lack = self.hub.lacks(permission, user).await?;
        Ok(lack.map(Missing::from))
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl Missing ===

impl Missing {
    fn of_change(name: &str, user: &str) -> Self {
        let of = match name {
            "" => "for all names".to_owned(),
            name => format!("name {}", Quoted(name)),
        };
        let permission = format!(
            "verb \"patch\" on {} in API group {}, {of}",
            groups::MANAGED_CLUSTERS,
            groups::CLUSTER
        );
        let command = format!(
            "kubectl create clusterrolebinding {} --clusterrole={CHANGES} {}",
            ShellWord(&format!("{CHANGES}:{user}")),
            Flag("--user", user),
        );
        Self {
            permission: permission.into(),
            role: Some(CHANGES.into()),
            command: command.into(),
        }
    }

    fn of_placements(namespace: &str, user: &str) -> Self {
        let permission = format!(
            "verb \"update\" on {} in API group {}, namespace {}",
            groups::PLACEMENTS,
            groups::CLUSTER,
            Quoted(namespace)
        );
        Self::in_namespace(permission, EDITS, namespace, user)
    }

    fn of_rollout(namespace: &str, name: &str, user: &str) -> Self {
        let permission = format!(
            "verb \"patch\" on {} in API group {}, name {}, namespace {}",
            groups::MANIFEST_WORK_REPLICA_SETS,
            groups::WORK,
            Quoted(name),
            Quoted(namespace)
        );
        Self::in_namespace(permission, WORK_EDITS, namespace, user)
    }

    /// A permission that a role contains which is bound in a namespace.
    fn in_namespace(permission: String, role: &str, namespace: &str, user: &str) -> Self {
        let command = format!(
            "kubectl create rolebinding {} -n {} --clusterrole={role} {}",
            ShellWord(&format!("{role}:{user}")),
            ShellWord(namespace),
            Flag("--user", user),
        );
        Self {
            permission: permission.into(),
            role: Some(role.into()),
            command: command.into(),
        }
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
