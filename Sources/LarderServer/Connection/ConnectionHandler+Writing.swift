import LarderCache
import NIOCore
import NIOPosix

extension ConnectionHandler {
    /// A body up to that size is copied behind its head, in bytes: two buffers take longer to send.
    private static let smallBody = 16 << 10

    private static let lengthName = Array("Content-Length: ".utf8)
    private static let chunked = Array("Transfer-Encoding: chunked\r\n".utf8)
    private static let close = Array("Connection: close\r\n".utf8)
    private static let keepAlive = Array("Connection: keep-alive\r\n".utf8)

    /// Writes a response, or its beginning: the activity is then to send.
    func write(_ response: Response, to request: ServerRequest) {
        guard let context else { return }
        var response = response
        let isChunked = response.length == nil && !request.isOld
        if response.length == nil, request.isOld { response.isLast = true }
        let hasBody = !request.isHead && response.hasLength
        var small = 0
        if hasBody, case .bytes(let bytes) = response.body, bytes.readableBytes <= Self.smallBody {
            small = bytes.readableBytes
        }
        var head = context.channel.allocator.buffer(
            capacity: 256 + response.fields.count + small)
        head.writeBytes(StatusLine.bytes(response.status))
        head.writeBytes(connections.dateLine)
        head.writeBytes(response.fields)
        if response.hasLength {
            if let length = response.length {
                head.writeBytes(Self.lengthName)
                head.writeString(String(length))
                head.writeStaticString("\r\n")
            } else if isChunked {
                head.writeBytes(Self.chunked)
            }
        }
        if response.isLast {
            head.writeBytes(Self.close)
        } else if request.isOld {
            head.writeBytes(Self.keepAlive)
        }
        head.writeStaticString("\r\n")
        log(response, hasBody: hasBody)
        hasUnflushed = true
        guard hasBody else {
            return context.write(wrapOutboundOut(.byteBuffer(head)), promise: nil)
        }
        answerer.metrics.bytes.add(Int(response.length ?? 0), ordering: .relaxed)
        switch response.body {
        case .bytes(var bytes):
            if small == bytes.readableBytes {
                head.writeBuffer(&bytes)
                return context.write(wrapOutboundOut(.byteBuffer(head)), promise: nil)
            }
            context.write(wrapOutboundOut(.byteBuffer(head)), promise: nil)
            context.write(wrapOutboundOut(.byteBuffer(bytes)), promise: nil)
        case .file(let file, let range):
            context.write(wrapOutboundOut(.byteBuffer(head)), promise: nil)
            send(file, range, isLast: response.isLast, context)
        case .chunks(let source, let length):
            context.write(wrapOutboundOut(.byteBuffer(head)), promise: nil)
            context.flush()
            activity = .sending
            sendNext(
                of: source, left: length, isChunked: isChunked, isLast: response.isLast)
        }
    }

    private func send(
        _ file: LentFile, _ range: Range<Int64>, isLast: Bool, _ context: ChannelHandlerContext
    ) {
        activity = .sending
        let descriptor: CInt
        do {
            descriptor = try file.descriptor()
        } catch {
            answerer.onProblem("\(error)")
            return abort()
        }
        let handle = NIOFileHandle(_deprecatedTakingOwnershipOfDescriptor: descriptor)
        let region = FileRegion(
            fileHandle: handle, readerIndex: Int(range.lowerBound), endIndex: Int(range.upperBound))
        let handler = NIOLoopBound(self, eventLoop: context.eventLoop)
        context.writeAndFlush(wrapOutboundOut(.fileRegion(region))).whenComplete { result in
            try? handle.close()
            // The next response only now: what is written is not yet sent.
            handler.value.sent(isWhole: (try? result.get()) != nil, isLast: isLast)
        }
    }

    /// Has the next piece made on the pool, and writes it; the one after it is made when the client
    /// has taken this one.
    ///
    /// - Parameter left: how many bytes are to come; nil if that is not known.
    private func sendNext(
        of source: any ChunkSource, left: Int64?, isChunked: Bool, isLast: Bool
    ) {
        guard let loop = context?.eventLoop else { return }
        let handler = NIOLoopBound(self, eventLoop: loop)
        answerer.pool.submit { _ in
            let piece = Result { try source.next() }
            loop.execute {
                handler.value.write(
                    piece, of: source, left: left, isChunked: isChunked, isLast: isLast)
            }
        }
    }

    private func write(
        _ piece: Result<ByteBuffer?, any Error>, of source: any ChunkSource, left: Int64?,
        isChunked: Bool, isLast: Bool
    ) {
        guard let context else { return }
        guard case .success(let bytes) = piece else { return sent(isWhole: false, isLast: isLast) }
        guard let bytes else {
            if isChunked {
                let end = ByteBuffer(string: "0\r\n\r\n")
                context.writeAndFlush(wrapOutboundOut(.byteBuffer(end)), promise: nil)
            }
            return sent(isWhole: left ?? 0 == 0, isLast: isLast)
        }
        let rest = left.map { $0 - Int64(bytes.readableBytes) }
        guard rest ?? 0 >= 0 else { return sent(isWhole: false, isLast: isLast) }
        if isChunked {
            let size = String(bytes.readableBytes, radix: 16)
            var line = context.channel.allocator.buffer(capacity: 16)
            line.writeString("\(size)\r\n")
            context.write(wrapOutboundOut(.byteBuffer(line)), promise: nil)
        }
        context.write(wrapOutboundOut(.byteBuffer(bytes)), promise: nil)
        let end = ByteBuffer(string: isChunked ? "\r\n" : "")
        let handler = NIOLoopBound(self, eventLoop: context.eventLoop)
        context.writeAndFlush(wrapOutboundOut(.byteBuffer(end))).whenComplete { result in
            guard (try? result.get()) != nil else {
                return handler.value.sent(isWhole: false, isLast: isLast)
            }
            handler.value.sendNext(of: source, left: rest, isChunked: isChunked, isLast: isLast)
        }
    }

    private func log(_ response: Response, hasBody: Bool) {
        guard let entry else { return }
        answerer.accessLog?(
            entry.line(status: response.status, bytes: hasBody ? response.length : 0))
        self.entry = nil
    }
}
