//! CertificateSigningRequests: agents use the label of their own cluster only, and only agents use that of an add-on.

use crate::guard::Guard;
use crate::policy::{Code, Policy, Target};
use crate::template::Template;

/// Renewals must not depend on an expression, so a failure admits the request.
pub(crate) fn policy(template: &Template) -> Policy {
    Policy::validating("", Target::REQUESTS)
        .ignoring_failures()
        .when(Guard::Request.name(), Guard::Request.fill(template))
        .variables(
            template,
            "requests",
            &["user", "name", "cluster", "own", "addon"],
        )
        .require(
            Code::Forbidden,
            template.at("requests/addonAgent"),
            template.at("requests/addonDenied"),
        )
        .require(
            Code::Forbidden,
            template.at("requests/ownCluster"),
            template.at("requests/denied"),
        )
}
