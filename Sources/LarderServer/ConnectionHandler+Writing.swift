import NIOCore
import NIOPosix

extension ConnectionHandler {
    /// The maximum size of a body that is copied into the head's buffer, in bytes. Sending two
    /// buffers takes longer.
    private static let smallBody = 16 << 10

    /// Writes the head, and starts the body. The activity is ``Activity/sending`` until a file or
    /// chunks are written.
    func write(_ response: Response, to request: ServerRequest) {
        guard let context else { return }
        var response = response
        let hasBody = !request.isHead && response.hasLength
        var file: NIOFileHandle?
        if hasBody, case .file(let lent, _) = response.body {
            do {
                file = NIOFileHandle(_deprecatedTakingOwnershipOfDescriptor: try lent.descriptor())
            } catch {
                answerer.log.problem("\(error)")
                response = Response(503, text: "Too many files are open.")
            }
        }
        var head = head(of: response, request, context)
        if let entry {
            answerer.configuration.accessLog?(
                entry.line(status: response.status, bytes: hasBody ? response.length : 0))
        }
        entry = nil
        hasUnflushed = true
        func write(_ bytes: ByteBuffer) {
            context.write(wrapOutboundOut(.byteBuffer(bytes)), promise: nil)
        }
        guard hasBody else { return write(head) }
        switch response.body {
        case .bytes(var bytes):
            answerer.metrics.bytes.add(bytes.readableBytes, ordering: .relaxed)
            if bytes.readableBytes <= Self.smallBody {
                head.writeBuffer(&bytes)
                return write(head)
            }
            write(head)
            write(bytes)
        case .file(let lent, let range):
            guard let file else { return }
            self.lent = lent
            write(head)
            send(file, range, isLast: response.isLast, context)
        case .chunks(let text):
            write(head)
            context.flush()
            activity = .sending
            sendNext(of: text, left: text.length, isLast: response.isLast)
        }
    }

    private func head(
        of response: Response, _ request: ServerRequest, _ context: ChannelHandlerContext
    ) -> ByteBuffer {
        var small = 0
        if case .bytes(let bytes) = response.body, bytes.readableBytes <= Self.smallBody {
            small = bytes.readableBytes
        }
        var head = context.channel.allocator.buffer(capacity: 256 + response.fields.count + small)
        head.writeBytes(HeadLine.status(response.status))
        head.writeBytes(connections.dateLine)
        head.writeBytes(response.fields)
        if response.hasLength {
            head.writeStaticString("Content-Length: ")
            head.writeString(String(response.length))
            head.writeStaticString("\r\n")
        }
        if response.isLast {
            head.writeStaticString("Connection: close\r\n")
        } else if request.isOld {
            head.writeStaticString("Connection: keep-alive\r\n")
        }
        head.writeStaticString("\r\n")
        return head
    }

    private func send(
        _ file: NIOFileHandle, _ range: Range<Int64>, isLast: Bool, _ context: ChannelHandlerContext
    ) {
        activity = .sending
        let region = FileRegion(
            fileHandle: file, readerIndex: Int(range.lowerBound), endIndex: Int(range.upperBound))
        let handler = NIOLoopBound(self, eventLoop: context.eventLoop)
        context.writeAndFlush(wrapOutboundOut(.fileRegion(region))).whenComplete { result in
            try? file.close()
            let isWhole = (try? result.get()) != nil
            if isWhole { handler.value.answerer.metrics.bytes.add(range.count, ordering: .relaxed) }
            handler.value.sent(isWhole: isWhole, isLast: isLast)
        }
    }

    private func sendNext(of text: ManifestText, left: Int64, isLast: Bool) {
        guard let loop = context?.eventLoop else { return }
        let handler = NIOLoopBound(self, eventLoop: loop)
        answerer.pool.submit { _ in
            let piece = Result { try text.next() }
            loop.execute { handler.value.write(piece, of: text, left: left, isLast: isLast) }
        }
    }

    private func write(
        _ piece: Result<ByteBuffer?, any Error>, of text: ManifestText, left: Int64, isLast: Bool
    ) {
        guard let context else { return }
        guard case .success(let bytes) = piece else { return sent(isWhole: false, isLast: isLast) }
        guard let bytes else { return sent(isWhole: left == 0, isLast: isLast) }
        let count = bytes.readableBytes
        let rest = left - Int64(count)
        guard rest >= 0 else { return sent(isWhole: false, isLast: isLast) }
        let handler = NIOLoopBound(self, eventLoop: context.eventLoop)
        context.writeAndFlush(wrapOutboundOut(.byteBuffer(bytes))).whenComplete { result in
            guard (try? result.get()) != nil else {
                return handler.value.sent(isWhole: false, isLast: isLast)
            }
            handler.value.answerer.metrics.bytes.add(count, ordering: .relaxed)
            handler.value.sendNext(of: text, left: rest, isLast: isLast)
        }
    }
}
