//! The CRDs of the operator's kinds, compared with OCM's: the files in `ocm` have their structure, without descriptions.

use berth_api::crds::{cluster_manager, klusterlet};

use super::structure::assert_structure;

#[test]
fn both_kinds_equal_those_of_ocm() {
    for (crd, expected) in [
        (cluster_manager(), include_str!("ocm/clustermanagers.json")),
        (klusterlet(), include_str!("ocm/klusterlets.json")),
    ] {
        let expected = serde_json::from_str(expected).expect("the file is JSON");
        assert_structure(&crd, &expected);
    }
}
