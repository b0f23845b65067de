// swift-tools-version: 6.1
import PackageDescription

/// One program for each target of Scripts/fuzz: the kit, and what measures the time.
func program(_ name: String, path: String) -> Target {
    .executableTarget(
        name: "fuzz-\(name)",
        dependencies: ["Pace", .product(name: "LarderPrefetch", package: "larder")], path: path)
}

// A package of its own: without the fuzzer's runtime these programs have no `main`. Built by Scripts/fuzz, and for
// testing, since most of what reads headers is no one's to call.
let package = Package(
    name: "larder-fuzz",
    platforms: [.macOS(.v15)],
    dependencies: [.package(name: "larder", path: "..")],
    targets: [
        .target(name: "Pace", path: "Pace"),
        program("manifests", path: "Manifests"),
        program("images", path: "Images"),
        program("svg", path: "SVG"),
        program("headers", path: "Headers"),
        program("vary", path: "Vary"),
        program("index", path: "Index"),
    ],
    swiftLanguageModes: [.v6]
)
