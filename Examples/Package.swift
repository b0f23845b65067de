// swift-tools-version: 6.1
import PackageDescription

let package = Package(
    name: "larder-examples",
    platforms: [.macOS(.v15), .iOS(.v16)],
    // In your own package, use a URL and a version. Without traits, only packages for apps are
    // resolved.
    dependencies: [.package(name: "larder", path: "..", traits: [])],
    targets: [
        .executableTarget(
            name: "icon-reader", dependencies: [.product(name: "LarderIcons", package: "larder")],
            path: "Sources/IconReader"),
        .executableTarget(
            name: "icon-list", dependencies: [.product(name: "LarderIcons", package: "larder")],
            path: "Sources/IconList"),
        .target(
            name: "nuke-cache", dependencies: [.product(name: "LarderIcons", package: "larder")],
            path: "Sources/NukeCache"),
        // Tests that get the same icons in every run, without a network.
        .testTarget(
            name: "IconTests", dependencies: [.product(name: "LarderTesting", package: "larder")]),
    ])
