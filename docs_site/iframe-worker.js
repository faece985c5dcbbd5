// The search runs in a worker, and a browser starts none from a file. So a page that was opened from
// a file runs it in a hidden frame instead. The generator would fetch a script for this from elsewhere;
// where one of this name is set, it does not.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.onmessage = null;
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      document.body.append(this.frame);
      const inner = this.frame.contentWindow;
      window.addEventListener("message", (event) => {
        if (event.source !== inner) return;
        this.dispatchEvent(new MessageEvent("message", { data: event.data }));
        if (this.onmessage) this.onmessage(event);
      });
      inner.postMessage = (data) => window.dispatchEvent(
        new MessageEvent("message", { data, source: inner })
      );
      inner.importScripts = (...urls) => urls.reduce((before, one) => before.then(
        () => new Promise((done) => this.load(one, done))
      ), Promise.resolve());
      this.ready = new Promise((done) => this.load(url, done));
    }
    load(url, done) {
      const inner = this.frame.contentWindow.document;
      const script = inner.createElement("script");
      script.src = new URL(url, location.href);
      script.onload = done;
      inner.body.append(script);
    }
    postMessage(data) {
      this.ready.then(() => this.frame.contentWindow.dispatchEvent(
        new MessageEvent("message", { data })
      ));
    }
    terminate() {
      this.frame.remove();
    }
  };
}
