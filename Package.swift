// swift-tools-version: 6.1
import PackageDescription

let package = Package(
    name: "larder",
    platforms: [.macOS(.v15), .iOS(.v16)],
    products: [
        .library(name: "LarderCache", targets: ["LarderCache"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-crypto", from: "4.0.0"),
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.0.0"),
        // The tests' TLS and HTTP/2 origin only; nothing that ships depends on these.
        .package(url: "https://github.com/apple/swift-nio", from: "2.80.0"),
        .package(url: "https://github.com/apple/swift-nio-http2", from: "1.35.0"),
        .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.29.0"),
    ],
    targets: [
        .systemLibrary(
            name: "CCurl", pkgConfig: "libcurl",
            providers: [.apt(["libcurl4-openssl-dev"]), .brew(["curl"])]),
        // What Swift's Glibc module leaves out.
        .systemLibrary(name: "CLarderSystem"),

        // Requests → verified byte streams; the only code that sees libcurl.
        .target(name: "LarderTransfer", dependencies: ["CCurl"]),
        // What an app embeds: the store and its index. Neither curl nor libxml2.
        .target(
            name: "LarderCache",
            dependencies: [
                "CLarderSystem",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "GRDB", package: "GRDB.swift"),
            ]),

        // A loopback origin that counts and misbehaves, and paints its own icons.
        .target(name: "LarderTestSupport", path: "Tests/LarderTestSupport"),
        .executableTarget(
            name: "sample-origin", dependencies: ["LarderTestSupport"],
            path: "Tests/SampleOrigin"),
        .target(
            name: "LarderTestTLS",
            dependencies: [
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOHTTP2", package: "swift-nio-http2"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
            ],
            path: "Tests/LarderTestTLS", exclude: ["Certificates"]),
        .testTarget(
            name: "LarderTestSupportTests",
            dependencies: [
                "LarderTestSupport", "LarderTestTLS", "sample-origin",
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOTLS", package: "swift-nio"),
                .product(name: "NIOHTTP2", package: "swift-nio-http2"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
            ]),
        .testTarget(
            name: "LarderTransferTests",
            dependencies: ["LarderTransfer", "LarderTestSupport", "LarderTestTLS"]),
        .testTarget(
            name: "LarderCacheTests", dependencies: ["LarderCache", "LarderTestSupport"]),
    ],
    swiftLanguageModes: [.v6]
)
