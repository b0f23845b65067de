// swift-tools-version: 6.1
import PackageDescription

let package = Package(
    name: "larder-examples",
    platforms: [.macOS(.v15), .iOS(.v16)],
    // Of your own package, a URL and a version. Without traits: what an app needs, and no more.
    dependencies: [.package(name: "larder", path: "..", traits: [])],
    targets: [
        .executableTarget(
            name: "icon-reader", dependencies: [.product(name: "LarderIcons", package: "larder")],
            path: "Sources/IconReader"),
        .executableTarget(
            name: "icon-list", dependencies: [.product(name: "LarderIcons", package: "larder")],
            path: "Sources/IconList"),
    ])
