// swift-tools-version: 6.1
import PackageDescription

// A package of its own: without the fuzzer's runtime these programs have no `main`. Built by Scripts/fuzz.
let package = Package(
    name: "larder-fuzz",
    platforms: [.macOS(.v15)],
    dependencies: [.package(name: "larder", path: "..")],
    targets: [
        .executableTarget(
            name: "fuzz-manifests", dependencies: [.product(name: "LarderKit", package: "larder")],
            path: "Manifests"),
        .executableTarget(
            name: "fuzz-images", dependencies: [.product(name: "LarderKit", package: "larder")],
            path: "Images"),
    ],
    swiftLanguageModes: [.v6]
)
