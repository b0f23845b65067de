import LarderKit

/// What the fuzzer calls with each input: bytes as a server would send them for an icon.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzImages(_ data: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    guard let info = try? ImageInspector.inspect(UnsafeRawBufferPointer(start: data, count: count))
    else { return 0 }
    guard info.width ?? 1 > 0, info.height ?? 1 > 0 else { fatalError("no size: \(info)") }
    return 0
}
