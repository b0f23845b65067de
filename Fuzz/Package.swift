// swift-tools-version: 6.1
import PackageDescription

func program(_ name: String, path: String) -> Target {
    .executableTarget(
        name: "fuzz-\(name)",
        dependencies: ["Pace", .product(name: "LarderPrefetch", package: "larder")], path: path)
}

// A separate package, because these programs have no `main` without the fuzzer's runtime.
// Scripts/fuzz builds it with -enable-testing, because most fuzzed functions are internal.
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
