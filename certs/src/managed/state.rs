//! What the Secret holds: the serving certificate, the authority that issued it, the one that is being introduced, and
//! those on their way out.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use jiff::Timestamp;

use super::root::Root;
use crate::issue::{Authority, Issued};
use crate::pair::Pair;
use crate::pem::{CertError, Digest, PemFile, Problem};

/// The keys of the Secret's data. The first two are those of `kubernetes.io/tls`.
const LEAF: [&str; 2] = ["tls.crt", "tls.key"];
const AUTHORITY: [&str; 2] = ["ca.crt", "ca.key"];
const NEXT: [&str; 2] = ["next-ca.crt", "next-ca.key"];
const OLD: &str = "old-ca.crt";

/// Since when the newest authority has been in all registrations.
const PUBLISHED_SINCE: &str = "berth.open-cluster-management.io/published-since";
/// When the last certificate that the authority issued expires.
const LEAVES_UNTIL: &str = "berth.open-cluster-management.io/leaves-until";
/// The same for each of the authorities on their way out, in their order, separated by commas.
const OLD_UNTIL: &str = "berth.open-cluster-management.io/old-until";

/// All annotations that are ours.
pub const ANNOTATIONS: [&str; 3] = [PUBLISHED_SINCE, LEAVES_UNTIL, OLD_UNTIL];

/// More authorities on their way out than this are not taken in: a bundle is read by every API server at every change.
const MOST_OLD: usize = 16;

/// What managed certificates are at a time.
#[derive(Clone, Debug)]
pub struct State {
    /// What is served. None: nothing yet.
    pub leaf: Option<Leaf>,
    /// What issues.
    pub authority: Signer,
    /// What will.
    pub next: Option<Signer>,
    /// Since when the newest authority has been in all registrations.
    pub published_since: Option<Timestamp>,
    /// When the last certificate that the authority issued expires.
    pub leaves_until: Option<Timestamp>,
    /// What issued before, and may still be needed.
    pub old: Vec<Old>,
}

/// A serving certificate with its key.
#[derive(Clone)]
pub struct Leaf {
    pub(super) certificate: Arc<PemFile>,
    pub(super) key: Arc<PemFile>,
    /// For rustls.
    pub pair: Pair,
}

/// An authority with its key.
#[derive(Clone, Debug)]
pub struct Signer {
    /// What others believe.
    pub root: Root,
    /// What issues.
    pub authority: Arc<Authority>,
}

/// An authority on its way out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Old {
    /// What others believe.
    pub root: Root,
    /// When it is needed no more.
    pub until: Timestamp,
}

/// The part of a Secret that a state is in.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Content {
    /// The data, decoded.
    pub data: BTreeMap<String, Vec<u8>>,
    /// The annotations.
    pub annotations: BTreeMap<String, String>,
}

/// What was made of a Secret, or of there being none.
#[derive(Clone, Debug, Default)]
pub struct Reading {
    /// As much as could be read, if there is an authority in it.
    pub state: Option<State>,
    /// What could not be read.
    pub problems: Vec<CertError>,
    /// Whether the Secret exists and can be written to.
    pub shape: Shape,
}

/// Whether the Secret exists and can be written to. We fill it, and never create or delete it: who may create a Secret may
/// create one of the type `kubernetes.io/service-account-token`, which becomes the token of any account of the namespace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Shape {
    /// It does not exist. An admin has to apply its manifest again.
    #[default]
    Missing,
    /// It is of another type than `Opaque`, or immutable; neither can be changed. An admin has to delete it and apply its
    /// manifest again.
    Misshapen,
    /// It holds no data, as its manifest has it.
    Empty,
    /// It holds data.
    Filled,
}

// === impl Shape ===

impl Shape {
    /// Every shape.
    pub const ALL: [Self; 4] = [Self::Missing, Self::Misshapen, Self::Empty, Self::Filled];

    /// As a label of metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Missing => "missing",
            Self::Misshapen => "misshapen",
            Self::Empty => "empty",
            Self::Filled => "filled",
        }
    }

    /// The Secret can be written to.
    pub fn is_usable(self) -> bool {
        matches!(self, Self::Empty | Self::Filled)
    }
}

// === impl Reading ===

impl Reading {
    /// Reads what a Secret holds; messages call it `name`.
    pub fn of(name: &str, content: &Content, now: Timestamp) -> Self {
        let mut reader = Reader {
            name,
            content,
            problems: Vec::new(),
        };
        let state = reader.signer(AUTHORITY).map(|authority| State {
            leaf: reader.leaf(&authority, now),
            next: reader.signer(NEXT),
            published_since: reader.time(PUBLISHED_SINCE),
            leaves_until: reader.time(LEAVES_UNTIL),
            old: reader.old(),
            authority,
        });
        if state.is_none() && reader.problems.is_empty() {
            let problem = reader
                .file(AUTHORITY[0])
                .error(Problem::NoCertificate, Digest::of(&[]));
            reader.problems.push(problem);
        }
        Self {
            state,
            problems: reader.problems,
            shape: match content.data.values().all(Vec::is_empty) {
                true => Shape::Empty,
                false => Shape::Filled,
            },
        }
    }
}

/// Reads, and notes what cannot be read.
struct Reader<'a> {
    name: &'a str,
    content: &'a Content,
    problems: Vec<CertError>,
}

impl Reader<'_> {
    fn file(&self, key: &str) -> PemFile {
        PemFile {
            name: format!("{}, {key}", self.name),
            content: self.content.data.get(key).cloned().unwrap_or_default(),
        }
    }

    /// Both files, if there is anything in any of them.
    fn pair(&self, keys: [&str; 2]) -> Option<[PemFile; 2]> {
        let pair = keys.map(|key| self.file(key));
        let anything = pair.iter().any(|file| !file.content.is_empty());
        anything.then_some(pair)
    }

    fn or_note<T>(&mut self, read: Result<T, CertError>) -> Option<T> {
        read.map_err(|error| self.problems.push(error)).ok()
    }

    fn signer(&mut self, keys: [&str; 2]) -> Option<Signer> {
        let [certificate, key] = self.pair(keys)?;
        let read = Authority::from_pem(&certificate, &key).and_then(|authority| {
            Signer::new(authority).map_err(|problem| certificate.error(problem, Digest::of(&[])))
        });
        self.or_note(read)
    }

    fn leaf(&mut self, authority: &Signer, now: Timestamp) -> Option<Leaf> {
        let [certificate, key] = self.pair(LEAF)?;
        let read = match Pair::from_pem(&certificate, &key, now) {
            // That is no fault of the Secret's.
            Err(CertError {
                problem: Problem::Expired { .. },
                ..
            }) => return None,
            // To be served when its time comes; made anew, it would be no better by this clock.
            Err(CertError {
                problem: Problem::NotYetValid { not_before },
                ..
            }) => Pair::from_pem(&certificate, &key, not_before),
            read => read,
        };
        let pair = self.or_note(read)?;
        let roots = std::slice::from_ref(&authority.root);
        // As long as both are valid, whenever that is.
        let at = now.clamp(
            pair.not_before,
            pair.not_after
                .min(authority.root.not_after())
                .max(pair.not_before),
        );
        if !super::verifies(&certificate.content, roots, &[], at) {
            let authority = format!("{}, {}", self.name, AUTHORITY[0]);
            let problem = Problem::OtherAuthority { authority };
            let error = certificate.error(problem, pair.digest);
            self.problems.push(error);
            return None;
        }
        Some(Leaf {
            certificate: Arc::new(certificate),
            key: Arc::new(key),
            pair,
        })
    }

    fn time(&mut self, annotation: &str) -> Option<Timestamp> {
        let text = self.content.annotations.get(annotation)?;
        text.parse().ok().or_else(|| {
            self.malformed(annotation, "it is no time as RFC 3339 has it".to_owned());
            None
        })
    }

    fn old(&mut self) -> Vec<Old> {
        let file = self.file(OLD);
        let roots = Root::all_in(&file.content);
        if roots.iter().map(Root::pem).collect::<String>().as_bytes() != file.content {
            self.malformed(OLD, "it is not as it was written".to_owned());
        }
        let until = self.content.annotations.get(OLD_UNTIL);
        let until: Vec<_> = until.into_iter().flat_map(|text| text.split(',')).collect();
        let until: Vec<Timestamp> = until.iter().map_while(|it| it.parse().ok()).collect();
        if until.len() != roots.len() {
            self.malformed(
                OLD_UNTIL,
                "there is not one time for each authority".to_owned(),
            );
        }
        let whole = until.len() == roots.len();
        let old = roots.into_iter().enumerate().map(|(i, root)| Old {
            // As long as it can be of use.
            until: if whole { until[i] } else { root.not_after() },
            root,
        });
        old.take(MOST_OLD).collect()
    }

    fn malformed(&mut self, what: &str, why: String) {
        let file = self.file(what);
        let error = file.error(Problem::Malformed(why), Digest::of(&[&file.content]));
        self.problems.push(error);
    }
}

// === impl State ===

impl State {
    /// The authority that is in the fewest hands.
    pub fn newest(&self) -> &Signer {
        self.next.as_ref().unwrap_or(&self.authority)
    }

    /// All that a client has to believe.
    pub fn roots(&self) -> Vec<Root> {
        let signers = [Some(&self.authority), self.next.as_ref()];
        let mut roots: Vec<_> = signers
            .into_iter()
            .flatten()
            .map(|it| it.root.clone())
            .collect();
        roots.extend(self.old.iter().map(|old| old.root.clone()));
        roots.sort_by(Root::by_age);
        roots.dedup();
        roots
    }

    /// What registrations are to have. It stays the same when an authority takes over from another.
    pub fn bundle(&self) -> String {
        self.roots().iter().map(Root::pem).collect()
    }

    /// Takes in authorities that somebody may still serve with.
    pub(super) fn adopt<'a>(
        &mut self,
        roots: impl IntoIterator<Item = &'a Root>,
        until: Timestamp,
        now: Timestamp,
    ) {
        let known = self.roots();
        for root in roots {
            if root.lasts(now) && !known.contains(root) && self.old.len() < MOST_OLD {
                self.old.push(Old {
                    root: root.clone(),
                    until: until.min(root.not_after()),
                });
            }
        }
    }

    /// For the Secret.
    pub fn content(&self) -> Content {
        let mut data = BTreeMap::new();
        let mut put = |key: &str, content: Vec<u8>| data.insert(key.to_owned(), content);
        if let Some(leaf) = &self.leaf {
            put(LEAF[0], leaf.certificate.content.clone());
            put(LEAF[1], leaf.key.content.clone());
        }
        let signers = [
            (AUTHORITY, Some(&self.authority)),
            (NEXT, self.next.as_ref()),
        ];
        for ([certificate, key], signer) in signers {
            let Some(signer) = signer else { continue };
            put(certificate, signer.root.pem().into_bytes());
            put(key, signer.authority.key_pem().into_bytes());
        }
        let mut annotations = BTreeMap::new();
        if !self.old.is_empty() {
            let old: String = self.old.iter().map(|old| old.root.pem()).collect();
            put(OLD, old.into_bytes());
            let until: Vec<_> = self.old.iter().map(|old| old.until.to_string()).collect();
            annotations.insert(OLD_UNTIL.to_owned(), until.join(","));
        }
        for (key, time) in [
            (PUBLISHED_SINCE, self.published_since),
            (LEAVES_UNTIL, self.leaves_until),
        ] {
            if let Some(time) = time {
                annotations.insert(key.to_owned(), time.to_string());
            }
        }
        Content { data, annotations }
    }
}

// === impl Leaf ===

impl Leaf {
    /// One that was just issued.
    pub(super) fn new(issued: &Issued, now: Timestamp) -> Result<Self, CertError> {
        let file = |key: &str, content: &str| PemFile {
            name: key.to_owned(),
            content: content.as_bytes().to_vec(),
        };
        let certificate = file(LEAF[0], &issued.certificate_pem);
        let key = file(LEAF[1], &issued.key_pem);
        Ok(Self {
            pair: Pair::from_pem(&certificate, &key, now)?,
            certificate: Arc::new(certificate),
            key: Arc::new(key),
        })
    }

    /// The pair, if it is valid at `now`.
    ///
    /// # Errors
    /// It is not.
    pub fn pair_at(&self, now: Timestamp) -> Result<Pair, CertError> {
        Pair::from_pem(&self.certificate, &self.key, now)
    }

    /// The certificate, PEM.
    pub fn certificate_pem(&self) -> &[u8] {
        &self.certificate.content
    }
}

impl fmt::Debug for Leaf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.pair.fmt(f)
    }
}

// === impl Signer ===

impl Signer {
    pub(super) fn new(authority: Authority) -> Result<Self, Problem> {
        Ok(Self {
            root: Root::of(&authority)?,
            authority: Arc::new(authority),
        })
    }
}

// === impl Old ===

impl Old {
    /// Nothing that it issued is valid any more. Certificates are, to the end of their last second.
    pub(super) fn is_over(&self, now: Timestamp) -> bool {
        self.until.as_second() < now.as_second()
    }
}

// === impl Content ===

impl fmt::Debug for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The data are keys.
        f.debug_struct("Content")
            .field("data", &self.data.keys())
            .field("annotations", &self.annotations)
            .finish()
    }
}

#[cfg(test)]
mod tests;
