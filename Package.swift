// swift-tools-version: 6.1
import PackageDescription

// The commit for `larder --version`, set by Scripts/package. `Context.gitInformation` is not used,
// because SwiftPM caches it until this file changes.
let commit = Context.environment["LARDER_COMMIT"]

// Whether the documentation plugin is needed. Set by Scripts/docs.
let documents = Context.environment["LARDER_DOCC"] != nil

// A condition for products that are resolved only with the trait `Prefetching`.
let prefetching = TargetDependencyCondition.when(traits: ["Prefetching"])

let package = Package(
    name: "larder",
    platforms: [.macOS(.v15), .iOS(.v16)],
    products: [
        // `larder` is not a product, so that an app that embeds a library does not clone packages
        // that only the command line needs. SwiftPM builds the target anyway.
        .library(name: "LarderCache", targets: ["LarderCache", "LarderCore"]),
        .library(name: "LarderIcons", targets: ["LarderIcons", "LarderCache", "LarderCore"]),
        .library(
            name: "LarderTesting",
            targets: ["LarderTesting", "LarderIcons", "LarderCache", "LarderCore"]),
        .library(
            name: "LarderPrefetch",
            targets: [
                "LarderPrefetch", "LarderCache", "LarderCore", "LarderHTTP", "LarderIcons",
                "LarderManifest",
            ]),
    ],
    // Enabled by default. An app that embeds LarderCache or LarderIcons can use `traits: []`, so
    // that only GRDB, swift-crypto and swift-asn1 are resolved.
    traits: [
        .trait(name: "Prefetching", description: "LarderPrefetch and the command line"),
        .default(enabledTraits: ["Prefetching"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.5.0"),
        .package(url: "https://github.com/apple/swift-collections", from: "1.1.0"),
        .package(url: "https://github.com/apple/swift-crypto", from: "4.0.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.0"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.0"),
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.0.0"),
        .package(
            url: "https://github.com/HdrHistogram/hdrhistogram-swift",
            .upToNextMinor(from: "0.2.0")),
    ],
    targets: [
        .systemLibrary(
            name: "CCurl", pkgConfig: "libcurl",
            providers: [.apt(["libcurl4-openssl-dev"]), .brew(["curl"])]),
        .systemLibrary(
            name: "CXML2", pkgConfig: "libxml-2.0",
            providers: [.apt(["libxml2-dev"]), .brew(["libxml2"])]),
        .systemLibrary(
            name: "CYAML", pkgConfig: "yaml-0.1",
            providers: [.apt(["libyaml-dev"]), .brew(["libyaml"])]),
        .systemLibrary(
            name: "CZlib", pkgConfig: "zlib",
            providers: [.apt(["zlib1g-dev"]), .brew(["zlib"])]),
        // System headers that Swift's Glibc module does not include.
        .systemLibrary(name: "CLarderSystem"),
        // Signal handlers and other code that cannot be written in Swift.
        .target(name: "CLarderGuard"),
        // The commit, for `larder --version`.
        .target(
            name: "CLarderCommit",
            cSettings: commit.map { [.define("LARDER_COMMIT", to: "\"\($0)\"")] } ?? []),

        // Shared types: URLs, keys, digests, media types, and sizes and times as text.
        .target(
            name: "LarderCore", dependencies: [.product(name: "Crypto", package: "swift-crypto")]),
        // A filtered XML reader, the only user of libxml2.
        .target(name: "LarderXML", dependencies: ["CXML2", "LarderCore"]),
        // Recognition and validation of image formats.
        .target(name: "LarderImages", dependencies: ["CZlib", "LarderCore"]),
        // Readers of all manifest formats.
        .target(
            name: "LarderManifest",
            dependencies: [
                "CYAML", "CZlib", "LarderCore", "LarderImages", "LarderXML",
            ]),
        // HTTP and S3 clients, the only users of libcurl.
        .target(
            name: "LarderHTTP",
            dependencies: [
                "CCurl", "CZlib", "LarderCore", "LarderXML",
                .product(name: "Logging", package: "swift-log", condition: prefetching),
            ]),
        // The store and its index. Apps can embed it, so it uses neither libcurl nor libxml2.
        .target(
            name: "LarderCache",
            dependencies: [
                "CLarderGuard", "CLarderSystem", "LarderCore",
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "GRDBSQLite", package: "GRDB.swift"),
            ]),
        // The library for apps: icons from memory, a cache or the network.
        .target(name: "LarderIcons", dependencies: ["LarderCache", "LarderCore"]),
        // The library for test targets: icons for `URLSession` without the network.
        .target(
            name: "LarderTesting", dependencies: ["LarderCache", "LarderCore", "LarderIcons"]),
        // The prefetcher: Manifest → Plan → Queue → Transfer → Store → Index → Report.
        .target(
            name: "LarderPrefetch",
            dependencies: [
                "LarderCache", "LarderCore", "LarderHTTP", "LarderIcons", "LarderImages",
                "LarderManifest",
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(
                    name: "BitCollections", package: "swift-collections", condition: prefetching),
                .product(name: "DequeModule", package: "swift-collections", condition: prefetching),
                .product(name: "HeapModule", package: "swift-collections", condition: prefetching),
                .product(name: "Logging", package: "swift-log", condition: prefetching),
            ]),
        // Export and import of other programs' layouts, and the gallery.
        .target(
            name: "LarderExport",
            dependencies: [
                "LarderCache", "LarderCore", "LarderImages", "LarderManifest",
                .product(name: "GRDB", package: "GRDB.swift"),
            ],
            resources: [
                .embedInCode("Gallery/Page/index.html"), .embedInCode("Gallery/Page/gallery.css"),
                .embedInCode("Gallery/Page/gallery.js"),
            ]),
        // The offline HTTP server.
        .target(
            name: "LarderServer",
            dependencies: [
                "LarderCache", "LarderCore", "LarderExport", "LarderManifest",
                .product(name: "Logging", package: "swift-log", condition: prefetching),
                .product(name: "NIOCore", package: "swift-nio", condition: prefetching),
                .product(name: "NIOHTTP1", package: "swift-nio", condition: prefetching),
                .product(name: "NIOPosix", package: "swift-nio", condition: prefetching),
            ]),
        .executableTarget(
            name: "larder",
            dependencies: [
                "CLarderCommit", "CLarderGuard", "CLarderSystem", "LarderCache", "LarderCore",
                "LarderExport", "LarderHTTP", "LarderImages", "LarderManifest", "LarderPrefetch",
                "LarderServer",
                .product(name: "Logging", package: "swift-log", condition: prefetching),
                .product(
                    name: "ArgumentParser", package: "swift-argument-parser", condition: prefetching
                ),
            ],
            path: "Sources/CLI"),

        // The programs of Scripts/bench: manifests, a relay with latency, and measurements.
        .executableTarget(name: "icon-manifests", path: "Benchmarks/IconManifests"),
        .executableTarget(name: "delay-relay", path: "Benchmarks/DelayRelay"),
        .target(name: "BenchmarkSupport", path: "Benchmarks/Support"),
        .executableTarget(
            name: "bench", dependencies: ["BenchmarkSupport"], path: "Benchmarks/Bench"),
        // A simulation of an app that scrolls through icons, for Scripts/rehearsals and packages.
        .executableTarget(
            name: "rehearse",
            dependencies: [
                "BenchmarkSupport", "LarderCache", "LarderCore", "LarderHTTP", "LarderIcons",
                "LarderManifest", "LarderPrefetch",
                .product(
                    name: "ArgumentParser", package: "swift-argument-parser",
                    condition: prefetching),
                .product(name: "Histogram", package: "hdrhistogram-swift", condition: prefetching),
            ],
            path: "Benchmarks/Rehearsal"),
        // A generator of images of one to four megabytes, for Scripts/rehearsals.
        .executableTarget(
            name: "large-images", dependencies: ["LarderTestSupport"],
            path: "Benchmarks/LargeImages"),
        // A benchmark of LarderIcons.
        .executableTarget(
            name: "icon-reads", dependencies: ["LarderCache", "LarderCore", "LarderIcons"],
            path: "Benchmarks/IconReads"),

        // A loopback origin with generated icons, which counts requests and simulates faults.
        .target(
            name: "LarderTestSupport",
            dependencies: [.product(name: "Logging", package: "swift-log", condition: prefetching)],
            path: "Tests/LarderTestSupport",
            exclude: [
                "Browser/browser.sh", "S3/rclone.sh", "S3/ceph.sh", "Server/guard.sh",
                "Slurm/slurm.sh",
            ]),
        .executableTarget(
            name: "sample-origin", dependencies: ["LarderTestSupport"],
            path: "Tests/SampleOrigin"),
        // Repeats operations, to check that memory does not grow.
        .executableTarget(
            name: "repeated-runs",
            dependencies: [
                "LarderCache", "LarderCore", "LarderIcons", "LarderManifest", "LarderPrefetch",
            ],
            path: "Tests/RepeatedRuns"),
        // The example of a disk cache for Nuke, which `Examples/` also compiles.
        .target(
            name: "NukeCache", dependencies: ["LarderIcons"], path: "Examples/Sources/NukeCache"),
        // A check that these modules link without libcurl.
        .executableTarget(
            name: "links-without-curl",
            dependencies: ["LarderExport", "LarderImages", "LarderManifest", "LarderServer"],
            path: "Tests/LinkCheck"),
        // TLS and HTTP/2 for the origin, with the libraries that libcurl usually uses.
        .systemLibrary(
            name: "COpenSSL", path: "Tests/COpenSSL", pkgConfig: "openssl",
            providers: [.apt(["libssl-dev"]), .brew(["openssl"])]),
        .systemLibrary(
            name: "CNghttp2", path: "Tests/CNghttp2", pkgConfig: "libnghttp2",
            providers: [.apt(["libnghttp2-dev"]), .brew(["libnghttp2"])]),
        .target(
            name: "LarderTestTLS", dependencies: ["CNghttp2", "COpenSSL", "LarderTestSupport"],
            path: "Tests/LarderTestTLS", exclude: ["Certificates"]),
        .testTarget(
            name: "LarderTestSupportTests",
            dependencies: ["LarderTestSupport", "LarderTestTLS", "sample-origin"]),
        .testTarget(
            name: "LarderCoreTests",
            dependencies: ["LarderCore", "LarderHTTP", "LarderTestSupport"],
            exclude: ["URL/StandardCases.jsonl"]),
        .testTarget(
            name: "LarderXMLTests", dependencies: ["CXML2", "LarderTestSupport", "LarderXML"]),
        .testTarget(
            name: "LarderImagesTests",
            dependencies: [
                "CXML2", "LarderCore", "LarderImages", "LarderManifest", "LarderTestSupport",
            ]),
        .testTarget(
            name: "LarderManifestTests",
            dependencies: ["CXML2", "LarderCore", "LarderManifest", "LarderTestSupport"]),
        .testTarget(
            name: "LarderHTTPTests",
            dependencies: [
                "LarderCore", "LarderHTTP", "LarderTestSupport", "LarderTestTLS",
                .product(name: "Crypto", package: "swift-crypto"),
            ]),
        .testTarget(
            name: "LarderCacheTests",
            dependencies: [
                "LarderCache", "LarderCore", "LarderTestSupport",
                .product(name: "GRDB", package: "GRDB.swift"),
            ]),
        .testTarget(
            name: "LarderIconsTests",
            dependencies: [
                "LarderCache", "LarderCore", "LarderIcons", "LarderTestSupport", "NukeCache",
            ]),
        .testTarget(
            name: "LarderTestingTests",
            dependencies: [
                "LarderCache", "LarderCore", "LarderImages", "LarderTestSupport", "LarderTesting",
            ]),
        .testTarget(
            name: "LarderPrefetchTests",
            dependencies: [
                "LarderCache", "LarderCore", "LarderHTTP", "LarderIcons", "LarderImages",
                "LarderManifest", "LarderPrefetch", "LarderTestSupport", "LarderTestTLS",
                .product(name: "GRDB", package: "GRDB.swift"),
            ]),
        .testTarget(
            name: "LarderExportTests",
            dependencies: [
                "LarderCache", "LarderCore", "LarderExport", "LarderManifest", "LarderPrefetch",
                "LarderTestSupport", .product(name: "Crypto", package: "swift-crypto"),
            ]),
        .testTarget(
            name: "LarderServerTests",
            dependencies: [
                "LarderCache", "LarderCore", "LarderExport", "LarderManifest", "LarderPrefetch",
                "LarderServer", "LarderTestSupport", "links-without-curl",
            ]),
        .testTarget(
            name: "RehearsalTests",
            dependencies: [
                "rehearse", "LarderCache", "LarderCore", "LarderHTTP", "LarderIcons",
                "LarderImages", "LarderManifest", "LarderPrefetch", "LarderTestSupport",
            ]),
        .testTarget(
            name: "CLITests",
            dependencies: [
                "larder", "repeated-runs", "LarderCache", "LarderCore", "LarderExport",
                "LarderHTTP", "LarderIcons", "LarderImages", "LarderManifest", "LarderPrefetch",
                "LarderTestSupport", "LarderTestTLS",
                .product(name: "GRDB", package: "GRDB.swift"),
            ]),
    ],
    swiftLanguageModes: [.v6]
)

if documents {
    package.dependencies.append(
        .package(url: "https://github.com/swiftlang/swift-docc-plugin", from: "1.4.0"))
}
