// A page that is opened from the disk may not start a worker. Its search then runs in a
// hidden frame instead.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super()
      const frame = document.createElement("iframe")
      frame.hidden = true
      document.body.append(frame)
      this.inside = frame.contentWindow
      const page = frame.contentDocument
      page.open()
      this.inside.postMessage = data =>
        this.dispatchEvent(new MessageEvent("message", { data }))
      const script = page.createElement("script")
      script.src = new URL(url, location)
      this.ready = new Promise(resolve => script.addEventListener("load", resolve))
      page.write("<!doctype html><body></body>")
      page.close()
      page.body.append(script)
    }

    postMessage(data) {
      const event = new MessageEvent("message", { data })
      this.ready.then(() => this.inside.dispatchEvent(event))
    }
  }
}
