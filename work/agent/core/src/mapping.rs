//! From a kind to its resource: what the managed cluster's API server serves.
//!
//! # Guarantees
//! - One request for each group and version in use. The response is kept until a CustomResourceDefinition of the group changes, or until
//!   the API server says that it does not serve the resource any more.
//! - A kind that is not served costs at most one request in [`RETRY`], however many manifests name it; and once in that time a few more,
//!   to find out where it is served.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use berth_api::GroupVersionResource;

/// How long a response counts for a kind that it does not name.
const RETRY: Duration = Duration::from_secs(30);

/// Upper bound on the kinds of a version that are looked for elsewhere.
const ELSEWHERE: usize = 16;

/// Upper bound on the responses that are kept.
const MOST: usize = 256;

/// The resource of a kind.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Mapped {
    /// The resource, with group and version.
    pub resource: GroupVersionResource,
    /// Its objects are in namespaces.
    pub is_namespaced: bool,
}

/// A kind without a resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unmapped {
    /// The API server does not serve it. The apiVersion in which it does, if there is one.
    NotServed(Option<Box<str>>),
    /// The API server did not respond, or refused.
    Unknown(String),
}

/// The resources that are known.
#[derive(Debug, Default)]
pub struct Mapping(HashMap<GroupVersion, Served>);

type GroupVersion = (Box<str>, Box<str>);

/// Resources by kind, and whether they are namespaced.
pub type Kinds = HashMap<Box<str>, (Box<str>, bool)>;

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
    /// Notes what a version of a group serves.
    pub fn keep(&mut self, group: &str, version: &str, kinds: Kinds, now: Instant) {
        let all = &mut self.0;
        if all.len() >= MOST {
            all.clear();
        }
        let key = (group.into(), version.into());
        // A second kind that is not served asks again; what is known of the first one stays as long as it counts.
        let former = all
            .remove(&key)
            .filter(|it| now.saturating_duration_since(it.at) < RETRY);
        let (at, elsewhere) =
            former.map_or_else(|| (now, HashMap::new()), |it| (it.at, it.elsewhere));
        let served = Served {
            at,
            kinds,
            elsewhere,
        };
        all.insert(key, served);
    }

    /// Asks anew for the kinds of this group.
    pub fn forget(&mut self, group: &str) {
        self.0.retain(|(of, _), _| &**of != group);
    }

    /// Notes in which apiVersion a kind is served that this version does not have.
    pub fn keep_elsewhere(
        &mut self,
        group: &str,
        version: &str,
        kind: &str,
        elsewhere: Option<Box<str>>,
    ) {
        if let Some(served) = self.0.get_mut(&(group.into(), version.into()))
            && served.elsewhere.len() < ELSEWHERE
        {
            served.elsewhere.insert(kind.into(), elsewhere);
        }
    }

    /// The resource of a kind, or that it is not served. `None`: the API server is to be asked.
    pub fn known(
        &self,
        group: &str,
        version: &str,
        kind: &str,
        now: Instant,
    ) -> Option<Result<Mapped, Unmapped>> {
        let served = self.0.get(&(group.into(), version.into()))?;
        match served.kinds.get(kind) {
            Some((resource, is_namespaced)) => Some(Ok(Mapped {
                resource: GroupVersionResource::new(
                    group.to_owned(),
                    version.to_owned(),
                    resource.to_string(),
                ),
                is_namespaced: *is_namespaced,
            })),
            None if now.saturating_duration_since(served.at) >= RETRY => None,
            None => match served.elsewhere.get(kind) {
                Some(elsewhere) => Some(Err(Unmapped::NotServed(elsewhere.clone()))),
                None if served.elsewhere.len() < ELSEWHERE => None,
                None => Some(Err(Unmapped::NotServed(None))),
            },
        }
    }
}
