//! Prints the policies of the default settings as a list.

#![allow(clippy::print_stdout, reason = "that is its purpose")]

fn main() {
    let documents = berth_policies::policies(&berth_policies::Options::default());
    let list = serde_json::json!({ "apiVersion": "v1", "kind": "List", "items": documents });
    println!("{list}");
}
