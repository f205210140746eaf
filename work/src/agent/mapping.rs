//! From a kind to its resource: what the managed cluster's API server serves.
//!
//! # Guarantees
//! - One request for each group and version in use. The response is kept until a CustomResourceDefinition of the group changes, or until
//!   the API server says that it does not serve the resource any more.
//! - A kind that is not served costs at most one request in [`RETRY`], however many manifests name it; and once in that time a few more,
//!   to find out where it is served (see `served`).

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use berth_api::GroupVersionResource;
use berth_reconcile::{Writer, now};

use super::served::{ELSEWHERE, elsewhere, kinds};

/// How long a response counts for a kind that it does not name.
const RETRY: Duration = Duration::from_secs(30);

/// Upper bound on the responses that are kept.
const MOST: usize = 256;

/// The resource of a kind.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Mapped {
    pub(crate) resource: GroupVersionResource,
    pub(crate) is_namespaced: bool,
}

/// A kind without a resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Unmapped {
    /// The API server does not serve it. The apiVersion in which it does, if there is one.
    NotServed(Option<Box<str>>),
    /// The API server did not respond, or refused.
    Unknown(String),
}

/// The resources that are known.
#[derive(Debug, Default)]
pub(crate) struct Mapping(Mutex<HashMap<GroupVersion, Served>>);

type GroupVersion = (Box<str>, Box<str>);

/// Resources by kind, and whether they are namespaced.
pub(super) type Kinds = HashMap<Box<str>, (Box<str>, bool)>;

/// What a group serves in a version, by kind.
#[derive(Debug)]
struct Served {
    at: Instant,
    kinds: Kinds,
    /// The apiVersions of kinds that it does not serve; at most [`ELSEWHERE`].
    elsewhere: HashMap<Box<str>, Option<Box<str>>>,
}

// === impl Mapping ===

impl Mapping {
    /// The resource of a kind.
    ///
    /// # Errors
    /// It is not served, or the API server cannot be asked.
    pub(crate) async fn of(
        &self,
        cluster: &Writer,
        group: &str,
        version: &str,
        kind: &str,
    ) -> Result<Mapped, Unmapped> {
        if let Some(known) = self.known(group, version, kind) {
            return known;
        }
        let kinds = kinds(cluster, group, version)
            .await
            .map_err(|refusal| Unmapped::Unknown(refusal.message))?;
        let is_served = kinds.contains_key(kind);
        self.keep(group, version, kinds);
        if is_served {
            let known = self.known(group, version, kind);
            return known.unwrap_or(Err(Unmapped::NotServed(None)));
        }
        let elsewhere = elsewhere(cluster, (group, version), kind).await;
        let elsewhere = elsewhere.map(String::into_boxed_str);
        if let Some(served) = self.lock().get_mut(&(group.into(), version.into()))
            && served.elsewhere.len() < ELSEWHERE
        {
            served.elsewhere.insert(kind.into(), elsewhere.clone());
        }
        Err(Unmapped::NotServed(elsewhere))
    }

    fn keep(&self, group: &str, version: &str, kinds: Kinds) {
        let mut all = self.lock();
        if all.len() >= MOST {
            all.clear();
        }
        let key = (group.into(), version.into());
        // A second kind that is not served asks again; what is known of the first one stays as long as it counts.
        let former = all.remove(&key).filter(|it| it.at.elapsed() < RETRY);
        let (at, elsewhere) = former.map_or_else(
            || (now().instant, HashMap::new()),
            |it| (it.at, it.elsewhere),
        );
        let served = Served {
            at,
            kinds,
            elsewhere,
        };
        all.insert(key, served);
    }

    /// Asks anew for the kinds of this group.
    pub(crate) fn forget(&self, group: &str) {
        self.lock().retain(|(of, _), _| &**of != group);
    }

    fn known(&self, group: &str, version: &str, kind: &str) -> Option<Result<Mapped, Unmapped>> {
        let all = self.lock();
        let served = all.get(&(group.into(), version.into()))?;
        match served.kinds.get(kind) {
            Some((resource, is_namespaced)) => Some(Ok(Mapped {
                resource: GroupVersionResource::new(
                    group.to_owned(),
                    version.to_owned(),
                    resource.to_string(),
                ),
                is_namespaced: *is_namespaced,
            })),
            None if served.at.elapsed() >= RETRY => None,
            None => match served.elsewhere.get(kind) {
                Some(elsewhere) => Some(Err(Unmapped::NotServed(elsewhere.clone()))),
                None if served.elsewhere.len() < ELSEWHERE => None,
                None => Some(Err(Unmapped::NotServed(None))),
            },
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<GroupVersion, Served>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
