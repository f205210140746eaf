//! Negotiates the form of a response: JSON or YAML; the object itself, its metadata, or a table.

use http::{HeaderMap, StatusCode, header};

use crate::protocol::query::Query;
use crate::status::ApiError;

/// How bytes look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// JSON; pretty is with indentation.
    Json {
        pretty: bool,
    },
    Yaml,
}

/// What is made of the object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Transform {
    #[default]
    Nothing,
    /// `as=Table`
    Table(MetaVersion),
    /// `as=PartialObjectMetadata`
    Metadata(MetaVersion),
    /// `as=PartialObjectMetadataList`
    MetadataList(MetaVersion),
    /// `as=APIGroupDiscoveryList`, in this version of `apidiscovery.k8s.io`
    Discovery(&'static str),
}

/// A version of the group `meta.k8s.io`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MetaVersion {
    V1,
    V1Beta1,
}

/// What was agreed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Accepted {
    pub(crate) format: Format,
    pub(crate) transform: Transform,
}

/// Which transformations an endpoint has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Transforms {
    /// None: of errors, and of everything that is no resource.
    None,
    /// Discovery as a whole.
    Discovery,
    /// All of them, of a built-in resource.
    BuiltIn,
    /// All of them, of a custom resource.
    Custom,
}

impl MetaVersion {
    pub(crate) fn api_version(self) -> &'static str {
        match self {
            Self::V1 => "meta.k8s.io/v1",
            Self::V1Beta1 => "meta.k8s.io/v1beta1",
        }
    }
}

impl Format {
    pub(crate) fn content_type(self) -> &'static str {
        match self {
            Self::Json { .. } => "application/json",
            Self::Yaml => "application/yaml",
        }
    }
}

impl Accepted {
    /// Finds the first acceptable form in the client's order of preference.
    ///
    /// # Errors
    /// 406 if no form is acceptable.
    pub(crate) fn negotiate(
        headers: &HeaderMap,
        query: &Query,
        transforms: Transforms,
    ) -> Result<Self, ApiError> {
        let accept = headers.get(header::ACCEPT);
        let accept = accept.map_or("", |value| value.to_str().unwrap_or_default());
        let pretty = wants_pretty(headers, query);
        if accept.is_empty() {
            return Ok(Self {
                format: Format::Json { pretty },
                transform: Transform::Nothing,
            });
        }
        let mut clauses: Vec<Clause<'_>> = accept.split(',').filter_map(Clause::parse).collect();
        clauses.sort_by(|a, b| {
            b.rank()
                .partial_cmp(&a.rank())
                .unwrap_or(std::cmp::Ordering::Equal)
        });
        let found = clauses.iter().find_map(|clause| {
            let format = clause.format(pretty)?;
            let transform = clause.transform(transforms)?;
            Some(Self { format, transform })
        });
        found.ok_or_else(|| {
            let message =
                "only the following media types are accepted: application/json, application/yaml";
            ApiError::new(StatusCode::NOT_ACCEPTABLE, "NotAcceptable", message)
        })
    }
}

/// Returns true if a person is going to read the answer.
fn wants_pretty(headers: &HeaderMap, query: &Query) -> bool {
    if let Some(pretty) = query.first("pretty").filter(|value| !value.is_empty()) {
        return matches!(pretty, "1" | "t" | "T" | "true" | "TRUE" | "True");
    }
    let agent = headers.get(header::USER_AGENT);
    let agent = agent.map_or("", |value| value.to_str().unwrap_or_default());
    ["curl", "Wget", "Mozilla/5.0"]
        .iter()
        .any(|human| agent.starts_with(human))
}

/// One of the alternatives of an Accept header.
struct Clause<'a> {
    sort: &'a str,
    subsort: &'a str,
    quality: f64,
    parameters: Vec<(&'a str, &'a str)>,
}

impl<'a> Clause<'a> {
    fn parse(text: &'a str) -> Option<Self> {
        let mut parts = text.split(';').map(str::trim);
        let media = parts.next()?;
        let (sort, subsort) = match media.split_once('/') {
            Some((_, subsort)) if subsort.contains('/') => return None,
            Some((sort, subsort)) => (sort.trim(), subsort.trim()),
            None if media == "*" => ("*", "*"),
            None => return None,
        };
        let mut clause = Self {
            sort,
            subsort,
            quality: 1.0,
            parameters: Vec::new(),
        };
        for (key, value) in parts.filter_map(|part| part.split_once('=')) {
            match (key.trim(), value.trim()) {
                ("q", quality) => clause.quality = quality.parse().unwrap_or(0.0),
                parameter => clause.parameters.push(parameter),
            }
        }
        Some(clause)
    }

    /// By quality, then the more specific first.
    fn rank(&self) -> (f64, bool, bool) {
        (self.quality, self.sort != "*", self.subsort != "*")
    }

    fn format(&self, pretty: bool) -> Option<Format> {
        let pretty = pretty || self.parameter("pretty") == Some("1");
        match (self.sort, self.subsort) {
            ("application", "json" | "*") | ("*", "*") => Some(Format::Json { pretty }),
            ("application", "yaml") => Some(Format::Yaml),
            _ => None,
        }
    }

    fn transform(&self, transforms: Transforms) -> Option<Transform> {
        let [kind, group, version] = ["as", "g", "v"].map(|key| self.parameter(key));
        if matches!(self.parameter("stream"), Some(stream) if !stream.is_empty() && stream != "watch")
        {
            return None;
        }
        if (kind, group, version) == (None, None, None) {
            return Some(Transform::Nothing);
        }
        if transforms == Transforms::Discovery {
            let version = ["v2", "v2beta1"]
                .into_iter()
                .find(|known| version == Some(known))?;
            let whole =
                group == Some("apidiscovery.k8s.io") && kind == Some("APIGroupDiscoveryList");
            return whole.then_some(Transform::Discovery(version));
        }
        if transforms == Transforms::None || group != Some("meta.k8s.io") {
            return None;
        }
        let version = match version? {
            "v1" => MetaVersion::V1,
            "v1beta1" => MetaVersion::V1Beta1,
            _ => return None,
        };
        match kind? {
            "Table" => Some(Transform::Table(version)),
            "PartialObjectMetadata" => Some(Transform::Metadata(version)),
            "PartialObjectMetadataList" => Some(Transform::MetadataList(version)),
            _ => None,
        }
    }

    fn parameter(&self, key: &str) -> Option<&'a str> {
        let found = self.parameters.iter().rev().find(|(own, _)| *own == key);
        found.map(|(_, value)| *value)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    fn negotiate(accept: &str, transforms: Transforms) -> Result<Accepted, ApiError> {
        let mut headers = HeaderMap::new();
        headers.insert(header::ACCEPT, accept.parse().unwrap());
        Accepted::negotiate(&headers, &Query::default(), transforms)
    }

    #[test]
    fn the_first_acceptable_alternative_counts() {
        let json = Format::Json { pretty: false };
        let table = Transform::Table(MetaVersion::V1);
        let kubectl = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json";
        let rows = [
            ("nothing said", "", json, Transform::Nothing),
            ("anything", "*/*", json, Transform::Nothing),
            ("kubectl get", kubectl, json, table),
            (
                "what is not served is passed over",
                "application/vnd.kubernetes.protobuf,application/json",
                json,
                Transform::Nothing,
            ),
            (
                "what is preferred comes first",
                "application/json;q=0.5, application/yaml",
                Format::Yaml,
                Transform::Nothing,
            ),
            (
                "what is specific comes first",
                "*/*, application/yaml",
                Format::Yaml,
                Transform::Nothing,
            ),
            (
                "a table of protobuf is passed over",
                "application/vnd.kubernetes.protobuf;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io",
                json,
                Transform::Table(MetaVersion::V1Beta1),
            ),
            (
                "metadata",
                "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1",
                json,
                Transform::MetadataList(MetaVersion::V1),
            ),
            (
                "a watch",
                "application/json;stream=watch",
                json,
                Transform::Nothing,
            ),
            (
                "pretty",
                "application/json;pretty=1",
                Format::Json { pretty: true },
                Transform::Nothing,
            ),
            (
                "an unknown parameter",
                "application/json;charset=utf-8",
                json,
                Transform::Nothing,
            ),
        ];
        for (sentence, accept, format, transform) in rows {
            let expected = Accepted { format, transform };
            assert_eq!(
                negotiate(accept, Transforms::Custom),
                Ok(expected),
                "{sentence}"
            );
        }
        assert_eq!(
            negotiate(kubectl, Transforms::None),
            Ok(Accepted {
                format: json,
                transform: Transform::Nothing
            }),
            "errors are no tables"
        );
    }
}
