// The search runs in a worker, and a browser starts none from a file. So a page that was opened from
// a file runs it in a hidden frame instead. The generator would fetch a script for this from
// elsewhere; where one of this name is set, it does not.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.onmessage = null;
      const { port1: near, port2: far } = new MessageChannel();
      this.near = near;
      near.onmessage = ({ data }) => {
        const event = new MessageEvent("message", { data });
        this.dispatchEvent(event);
        this.onmessage?.(event);
      };
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      document.body.append(this.frame);
      const inner = this.frame.contentWindow;
      inner.document.open();
      inner.document.write("<!doctype html><title>search</title><body></body>");
      inner.document.close();
      far.onmessage = ({ data }) => inner.dispatchEvent(
        new inner.MessageEvent("message", { data })
      );
      inner.postMessage = (data) => far.postMessage(data);
      const load = (one) => new Promise((done, failed) => {
        const script = inner.document.createElement("script");
        Object.assign(script, { src: new URL(one, location.href), onload: done, onerror: failed });
        inner.document.body.append(script);
      });
      inner.importScripts = (...urls) => urls.reduce(
        (before, one) => before.then(() => load(one)), Promise.resolve()
      );
      this.ready = load(url);
    }
    postMessage(data) {
      this.ready.then(() => this.near.postMessage(data));
    }
    terminate() {
      this.frame.remove();
    }
  };
}
