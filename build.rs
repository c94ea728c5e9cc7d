//! Keeps every exported function of the extension, whoever links it.

fn main() {
    // pgrx finds its SQL in sections of the shared library that nothing in the program refers to.
    println!("cargo::rustc-cdylib-link-arg=-Wl,--no-gc-sections");
    println!("cargo::rerun-if-changed=build.rs");
}
