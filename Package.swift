// swift-tools-version: 6.1
import PackageDescription

// For `larder --version`; Scripts/package sets it. SwiftPM's own `Context.gitInformation` keeps the
// commit that it saw first, until this file changes.
let commit = Context.environment["LARDER_COMMIT"]

// Documentation needs a plugin that nobody else does: Scripts/docs.
let documents = Context.environment["LARDER_DOCC"] != nil

// What is resolved for a target only if its trait is on.
let prefetching = TargetDependencyCondition.when(traits: ["Prefetching"])

let package = Package(
    name: "larder",
    platforms: [.macOS(.v15), .iOS(.v16)],
    products: [
        // `larder` is none: SwiftPM builds it all the same, and an app that embeds a library clones
        // nothing that only the command line needs.
        .library(name: "LarderCache", targets: ["LarderCache", "LarderCore"]),
        .library(name: "LarderIcons", targets: ["LarderIcons", "LarderCache", "LarderCore"]),
        .library(
            name: "LarderPrefetch",
            targets: [
                "LarderPrefetch", "LarderCache", "LarderCore", "LarderHTTP", "LarderIcons",
                "LarderManifest",
            ]),
    ],
    // On by default. An app that embeds LarderCache or LarderIcons turns them off with
    // `traits: []`: then nothing but GRDB and swift-crypto is resolved for it.
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
            name: "CZlib", pkgConfig: "zlib",
            providers: [.apt(["zlib1g-dev"]), .brew(["zlib"])]),
        // What Swift's Glibc module leaves out.
        .systemLibrary(name: "CLarderSystem"),
        // A signal's handler, and what else cannot be written in Swift.
        .target(name: "CLarderGuard"),
        // The commit, for `larder --version`.
        .target(
            name: "CLarderCommit",
            cSettings: commit.map { [.define("LARDER_COMMIT", to: "\"\($0)\"")] } ?? []),

        // What all modules share: URLs, keys, digests, foreign text, sizes and times as text.
        .target(
            name: "LarderCore", dependencies: [.product(name: "Crypto", package: "swift-crypto")]),
        // Foreign XML, filtered before libxml2 sees it; the only code that sees libxml2.
        .target(name: "LarderXML", dependencies: ["CXML2", "LarderCore"]),
        // The formats of images: how each is recognised and checked.
        .target(name: "LarderImages", dependencies: ["CZlib", "LarderCore"]),
        // Manifests of app entries, in every form that is read.
        .target(
            name: "LarderManifest",
            dependencies: [
                "CZlib", "LarderCore", "LarderImages", "LarderXML",
            ]),
        // Requests over HTTP, and S3-compatible stores; the only code that sees libcurl.
        .target(
            name: "LarderHTTP",
            dependencies: [
                "CCurl", "CZlib", "LarderCore", "LarderXML",
                .product(name: "DequeModule", package: "swift-collections", condition: prefetching),
                .product(name: "HeapModule", package: "swift-collections", condition: prefetching),
                .product(name: "Logging", package: "swift-log", condition: prefetching),
            ]),
        // What an app embeds: the store and its index. Neither curl nor libxml2.
        .target(
            name: "LarderCache",
            dependencies: [
                "CLarderGuard", "CLarderSystem", "LarderCore",
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "GRDBSQLite", package: "GRDB.swift"),
            ]),
        // How an app reads icons: from memory, from a cache, from the network.
        .target(name: "LarderIcons", dependencies: ["LarderCache", "LarderCore"]),
        // What a build machine runs: Manifest → Plan → Queue → Transfer → Store → Index → Report.
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
        // A cache in the layouts of other programs' caches, and back; a gallery for people.
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
        // A cache over HTTP, offline.
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
                "LarderExport", "LarderHTTP", "LarderIcons", "LarderImages", "LarderManifest",
                "LarderPrefetch", "LarderServer",
                .product(name: "Logging", package: "swift-log", condition: prefetching),
                .product(
                    name: "ArgumentParser", package: "swift-argument-parser", condition: prefetching
                ),
            ],
            path: "Sources/CLI"),

        // What Scripts/bench is made of: manifests, a long line, and the measuring itself.
        .executableTarget(name: "icon-manifests", path: "Benchmarks/IconManifests"),
        .executableTarget(name: "delay-relay", path: "Benchmarks/DelayRelay"),
        .executableTarget(name: "bench", path: "Benchmarks/Bench"),
        // How an app's table of icons behaves while it is scrolled: Scripts/rehearsals.
        .executableTarget(
            name: "rehearse",
            dependencies: [
                "LarderCache", "LarderCore", "LarderHTTP", "LarderIcons", "LarderManifest",
                "LarderPrefetch",
                .product(
                    name: "ArgumentParser", package: "swift-argument-parser",
                    condition: prefetching),
                .product(name: "Histogram", package: "hdrhistogram-swift", condition: prefetching),
            ],
            path: "Benchmarks/Rehearsal"),
        // Images of one to four megabytes, for Scripts/rehearsals.
        .executableTarget(
            name: "large-images", dependencies: ["LarderTestSupport"],
            path: "Benchmarks/LargeImages"),
        // Reading in an app, beside the plainest code that does the same.
        .executableTarget(
            name: "icon-reads", dependencies: ["LarderCache", "LarderCore", "LarderIcons"],
            path: "Benchmarks/IconReads"),

        // A loopback origin that counts and misbehaves, and paints its own icons.
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
        // Does one thing ten times: what it holds must not grow.
        .executableTarget(
            name: "repeated-runs",
            dependencies: [
                "LarderCache", "LarderCore", "LarderIcons", "LarderManifest", "LarderPrefetch",
            ],
            path: "Tests/RepeatedRuns"),
        // Shows that these modules link without libcurl.
        .executableTarget(
            name: "links-without-curl",
            dependencies: ["LarderExport", "LarderImages", "LarderManifest", "LarderServer"],
            path: "Tests/LinkCheck"),
        // TLS and HTTP/2 in front of it, of the libraries that libcurl is usually built with.
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
            dependencies: ["LarderCache", "LarderCore", "LarderIcons", "LarderTestSupport"]),
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
