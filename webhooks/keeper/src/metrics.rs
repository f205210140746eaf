//! Metrics of managed certificates, for the gate that serves them and the controller that keeps them.

use berth_certs::managed::events::{Event, Made, Reason};
use berth_certs::managed::{Observer, Shape};
use berth_serve::metrics::{counter, counters, gauge, gauges};
use prometheus::Registry;

/// Registers the metrics of managed certificates, and returns the observer that updates them.
///
/// # Panics
/// The registry has these metrics already.
pub fn certificate_metrics(registry: &Registry) -> Observer {
    let secret = gauges(
        registry,
        "berth_managed_certificate_secret",
        "1 for the state that the Secret was last seen in: missing, misshapen (of another type, or immutable), empty, \
             filled.",
        &["state"],
    );
    let not_after = gauges(
        registry,
        "berth_managed_certificate_not_after_timestamp_seconds",
        "When the certificates in the Secret expire (leaf, ca), in seconds since 1970.",
        &["what"],
    );
    let rotations = counters(
        registry,
        "berth_managed_certificate_rotations_total",
        "Certificates that this process made (leaf, ca).",
        &["what"],
    );
    let bundles = counters(
        registry,
        "berth_ca_bundle_writes_total",
        "Registrations that this process gave a caBundle: because it was new (published), had been changed (differs), \
             or had been changed so that calls failed (unverified).",
        &["reason"],
    );
    let verified = gauge(
        registry,
        "berth_ca_bundle_verified_timestamp_seconds",
        "When this process last saw that all registrations have the right caBundle, in seconds since 1970; 0: never.",
    );
    let absent = gauge(
        registry,
        "berth_ca_bundle_registrations_absent",
        "Registrations that this process should keep and that do not exist.",
    );
    let failures = counter(
        registry,
        "berth_managed_certificate_failures_total",
        "Attempts to read, make, store or publish certificates that failed; each is repeated.",
    );
    let [leaf, ca] = ["leaf", "ca"].map(|what| rotations.with_label_values(&[what]));
    let [published, differs, unverified] =
        ["published", "differs", "unverified"].map(|reason| bundles.with_label_values(&[reason]));

    Observer::new(move |event| match event {
        Event::Secret(seen) => {
            for shape in Shape::ALL {
                let is = i64::from(shape == *seen);
                secret.with_label_values(&[shape.as_str()]).set(is);
            }
        }
        Event::Seen { leaf, authority } => {
            let seconds = leaf.map_or(0, jiff::Timestamp::as_second);
            not_after.with_label_values(&["leaf"]).set(seconds);
            not_after
                .with_label_values(&["ca"])
                .set(authority.as_second());
        }
        Event::Made(Made::Leaf) => leaf.inc(),
        Event::Made(Made::Authority) => ca.inc(),
        Event::Failed => failures.inc(),
        Event::Wrote(Reason::Published) => published.inc(),
        Event::Wrote(Reason::Differs) => differs.inc(),
        Event::Wrote(Reason::Unverified) => unverified.inc(),
        Event::Verified(at) => verified.set(at.as_second()),
        Event::Absent(count) => absent.set(i64::try_from(*count).unwrap_or(i64::MAX)),
    })
}
