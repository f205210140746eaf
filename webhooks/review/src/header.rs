//! The parts of an AdmissionReview that request and response share: its version and the uid.

use berth_rules::object::Text;

/// The maximum length of a uid in bytes. Those of API servers have 36 bytes.
pub(crate) const LONGEST_UID: usize = 1024;

/// The two versions of AdmissionReview; the response has the request's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum ApiVersion {
    #[default]
    V1,
    V1beta1,
}

/// The fields that every response needs.
#[derive(Clone, Debug, Default)]
pub(crate) struct Header<'a> {
    pub(crate) api_version: ApiVersion,
    pub(crate) uid: Text<'a>,
}

// === impl ApiVersion ===

impl ApiVersion {
    pub(crate) fn parse(text: &str) -> Option<Self> {
        [Self::V1, Self::V1beta1]
            .into_iter()
            .find(|version| version.as_str() == text)
    }

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::V1 => "admission.k8s.io/v1",
            Self::V1beta1 => "admission.k8s.io/v1beta1",
        }
    }
}
