//! The state in the Secret: the serving certificate, the authority that issued it, the next authority, and old ones.

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

/// The time since which the newest authority has been in all registrations.
const PUBLISHED_SINCE: &str = "berth.open-cluster-management.io/published-since";
/// The time when the last certificate of the authority expires.
const LEAVES_UNTIL: &str = "berth.open-cluster-management.io/leaves-until";
/// The same times for the old authorities, in their order, separated by commas.
const OLD_UNTIL: &str = "berth.open-cluster-management.io/old-until";

/// The annotations that Berth writes.
pub const ANNOTATIONS: [&str; 3] = [PUBLISHED_SINCE, LEAVES_UNTIL, OLD_UNTIL];

/// The maximum number of old authorities. Every API server reads the bundle at every change.
const MOST_OLD: usize = 16;

/// The state of the managed certificates.
#[derive(Clone, Debug)]
pub struct State {
    /// The serving certificate; `None` if it is not issued yet.
    pub leaf: Option<Leaf>,
    /// The authority that issues.
    pub authority: Signer,
    /// The authority that will issue next.
    pub next: Option<Signer>,
    /// The time since which the newest authority has been in all registrations.
    pub published_since: Option<Timestamp>,
    /// The time when the last certificate of the authority expires.
    pub leaves_until: Option<Timestamp>,
    /// Former authorities that may still be needed.
    pub old: Vec<Old>,
}

/// A serving certificate with its key.
#[derive(Clone)]
pub struct Leaf {
    pub(super) certificate: Arc<PemFile>,
    pub(super) key: Arc<PemFile>,
    /// The pair for rustls.
    pub pair: Pair,
}

/// An authority with its key.
#[derive(Clone, Debug)]
pub struct Signer {
    /// The certificate, for clients.
    pub root: Root,
    /// The authority that issues.
    pub authority: Arc<Authority>,
}

/// An old authority.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Old {
    /// The certificate, for clients.
    pub root: Root,
    /// The time until which it is needed.
    pub until: Timestamp,
}

/// The parts of a Secret that contain the state.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Content {
    /// The data, decoded.
    pub data: BTreeMap<String, Vec<u8>>,
    /// The annotations.
    pub annotations: BTreeMap<String, String>,
}

/// The result of reading a Secret, which may be missing.
#[derive(Clone, Debug, Default)]
pub struct Reading {
    /// The readable part of the state; `None` without an authority.
    pub state: Option<State>,
    /// Errors about the other parts.
    pub problems: Vec<CertError>,
    /// Tells whether the Secret exists and can be written to.
    pub shape: Shape,
}

/// Tells whether the Secret exists and can be written to. Berth fills it, but never creates or deletes it: a client that may
/// create Secrets may create one of the type `kubernetes.io/service-account-token`, and so get the token of any account of
/// the namespace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Shape {
    /// The Secret does not exist. An admin must apply its manifest again.
    #[default]
    Missing,
    /// The Secret has another type than `Opaque`, or is immutable. Neither can be changed: an admin must delete the Secret
    /// and apply its manifest again.
    Misshapen,
    /// The Secret has no data, as in its manifest.
    Empty,
    /// The Secret has data.
    Filled,
}

// === impl Shape ===

impl Shape {
    /// Every shape.
    pub const ALL: [Self; 4] = [Self::Missing, Self::Misshapen, Self::Empty, Self::Filled];

    /// Returns the value of metric labels.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Missing => "missing",
            Self::Misshapen => "misshapen",
            Self::Empty => "empty",
            Self::Filled => "filled",
        }
    }

    /// Returns true if the Secret can be written to.
    pub fn is_usable(self) -> bool {
        matches!(self, Self::Empty | Self::Filled)
    }
}

// === impl Reading ===

impl Reading {
    /// Reads the content of a Secret. Messages use `name`.
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

/// Reads the parts, and collects errors.
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

    /// Returns both files, or `None` if both are empty.
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
            // Not an error of the Secret: a new leaf is due.
            Err(CertError {
                problem: Problem::Expired { .. },
                ..
            }) => return None,
            // Keep it until it is valid: by this clock, a new one would not be valid either.
            Err(CertError {
                problem: Problem::NotYetValid { not_before },
                ..
            }) => Pair::from_pem(&certificate, &key, not_before),
            read => read,
        };
        let pair = self.or_note(read)?;
        let roots = std::slice::from_ref(&authority.root);
        // Verify it at a time when both are valid.
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
            self.malformed(annotation, "the value is not a time in RFC 3339".to_owned());
            None
        })
    }

    fn old(&mut self) -> Vec<Old> {
        let file = self.file(OLD);
        let roots = Root::all_in(&file.content);
        if roots.iter().map(Root::pem).collect::<String>().as_bytes() != file.content {
            self.malformed(OLD, "the content was changed".to_owned());
        }
        let until = self.content.annotations.get(OLD_UNTIL);
        let until: Vec<_> = until.into_iter().flat_map(|text| text.split(',')).collect();
        let until: Vec<Timestamp> = until.iter().map_while(|it| it.parse().ok()).collect();
        if until.len() != roots.len() {
            self.malformed(
                OLD_UNTIL,
                "the number of times differs from the number of authorities".to_owned(),
            );
        }
        let whole = until.len() == roots.len();
        let old = roots.into_iter().enumerate().map(|(i, root)| Old {
            // Without its time, keep it while it is valid.
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
    /// Returns the newest authority.
    pub fn newest(&self) -> &Signer {
        self.next.as_ref().unwrap_or(&self.authority)
    }

    /// Returns all authorities that clients must trust.
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

    /// Returns the bundle for the registrations, PEM. It does not change when the next authority begins to issue.
    pub fn bundle(&self) -> String {
        self.roots().iter().map(Root::pem).collect()
    }

    /// Adds authorities that may have issued a certificate that another process serves.
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

    /// Encodes the state for the Secret.
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
    /// Makes a leaf from a new certificate.
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

    /// Returns the pair if it is valid at `now`.
    ///
    /// # Errors
    /// The pair is not valid at `now`.
    pub fn pair_at(&self, now: Timestamp) -> Result<Pair, CertError> {
        Pair::from_pem(&self.certificate, &self.key, now)
    }

    /// Returns the certificate, PEM.
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
    /// Returns true if all its certificates have expired. They are valid to the end of their last second.
    pub(super) fn is_over(&self, now: Timestamp) -> bool {
        self.until.as_second() < now.as_second()
    }
}

// === impl Content ===

impl fmt::Debug for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The data contain private keys.
        f.debug_struct("Content")
            .field("data", &self.data.keys())
            .field("annotations", &self.annotations)
            .finish()
    }
}

#[cfg(test)]
mod tests;
