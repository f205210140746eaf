//! The origin of a CSR, which an admin checks before the approval: its sender, age and key.

use std::fmt;

use berth_lifecycle_core::facts::CertificateRequest;
use berth_rules::display::Quoted;
use jiff::Timestamp;

use super::fingerprint::Fingerprint;
use crate::print::age;

/// Upper bound on the groups that are named; further groups are counted.
const MOST_GROUPS: usize = 10;

/// The origin of a CSR, as part of a line.
pub(super) struct Sent<'a> {
    pub(super) request: &'a CertificateRequest,
    pub(super) fingerprint: Option<Fingerprint>,
    pub(super) now: Timestamp,
}

// === impl Sent ===

impl fmt::Display for Sent<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            request,
            fingerprint,
            now,
        } = self;
        let age = age(request.created, *now);
        write!(f, "sent {age} ago by {}", Quoted(&request.username))?;
        match &request.groups[..] {
            [] => write!(f, " (in no group)")?,
            groups => {
                let named = groups.iter().take(MOST_GROUPS);
                let named: Vec<_> = named.map(|group| Quoted(group).to_string()).collect();
                write!(f, " (groups {}", named.join(", "))?;
                if groups.len() > MOST_GROUPS {
                    write!(f, " and {} more", groups.len() - MOST_GROUPS)?;
                }
                write!(f, ")")?;
            }
        }
        match fingerprint {
            Some(fingerprint) => write!(f, ", key {fingerprint}"),
            None => write!(f, ", key unknown"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_chose_stays_within_its_line() {
        let now: Timestamp = "2026-01-01T00:01:30Z".parse().unwrap();
        let mut request = CertificateRequest {
            username: "system:bootstrap:a\nb".to_owned(),
            created: Some("2026-01-01T00:00:00Z".parse().unwrap()),
            ..CertificateRequest::default()
        };
        let told = |request: &CertificateRequest| {
            Sent {
                request,
                fingerprint: None,
                now,
            }
            .to_string()
        };
        assert_eq!(
            told(&request),
            r#"sent 90s ago by "system:bootstrap:a\nb" (in no group), key unknown"#
        );
        request.groups = (0..12).map(|at| format!("g{at}")).collect();
        let line = told(&request);
        assert!(line.contains(r#"(groups "g0", "g1","#), "{line}");
        assert!(line.contains(r#""g9" and 2 more)"#), "{line}");
    }
}
