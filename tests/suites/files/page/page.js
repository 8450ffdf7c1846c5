// SPDX-License-Identifier: MPL-2.0
// A page that plays a film from its start and then from a later second, by one of three players. It is driven by
// browser.mjs, over the connection to the browser.

const PLAYERS = {
    video(element, url) {
        element.src = url;
        return { end() {} };
    },
    hls(element, url, fail) {
        const player = new Hls();
        player.on(Hls.Events.ERROR, (_, error) => error.fatal && fail(`hls.js: ${error.details}`));
        player.loadSource(url);
        player.attachMedia(element);
        return { end: () => player.destroy() };
    },
    dash(element, url, fail) {
        const player = dashjs.MediaPlayer().create();
        player.on("error", ({ error }) => fail(`dash.js: ${error.message ?? error}`));
        player.initialize(element, url, true);
        return { end: () => player.reset() };
    },
};

/** Resolves when `holds` returns true for `element`. */
function until(element, holds) {
    return new Promise((resolve) => {
        const names = ["timeupdate", "progress", "seeked", "durationchange"];
        function look() {
            if (!holds()) return;
            for (const name of names) element.removeEventListener(name, look);
            resolve();
        }
        for (const name of names) element.addEventListener(name, look);
        look();
    });
}

function isBuffered(element, second) {
    for (let index = 0; index < element.buffered.length; ++index) {
        if (element.buffered.start(index) <= second && second < element.buffered.end(index)) return true;
    }
    return false;
}

/** Plays a film. Returns its duration, its size, and the numbers of frames decoded before and after the seek. */
window.play = async (kind, url, second, isCrossOrigin) => {
    const element = document.createElement("video");
    element.muted = true;
    if (isCrossOrigin) element.crossOrigin = "anonymous";
    document.body.append(element);
    let fail;
    const failed = new Promise((_, reject) => (fail = (reason) => reject(new Error(reason))));
    element.addEventListener("error", () => fail(`the element: ${element.error.code} ${element.error.message}`));
    const player = PLAYERS[kind](element, url, fail);
    async function watch() {
        await element.play();
        await until(element, () => element.currentTime > 0.5);
        const before = element.getVideoPlaybackQuality().totalVideoFrames;
        element.currentTime = second;
        await until(element, () => !element.seeking && element.currentTime >= second + 1);
        return {
            duration: element.duration,
            width: element.videoWidth,
            height: element.videoHeight,
            isBuffered: isBuffered(element, element.currentTime),
            before,
            after: element.getVideoPlaybackQuality().totalVideoFrames - before,
            at: element.currentTime,
        };
    }
    try {
        return await Promise.race([watch(), failed]);
    } finally {
        player.end();
        element.remove();
    }
};

/** Fetches a file. Returns its content, and the numbers of bytes on the wire and of the content in both forms. */
window.fetchOnce = async (url, cache) => {
    performance.clearResourceTimings();
    const response = await fetch(url, { cache });
    const content = await response.text();
    const [entry] = performance.getEntriesByType("resource");
    return {
        status: response.status,
        content,
        transferred: entry.transferSize,
        encoded: entry.encodedBodySize,
        decoded: entry.decodedBodySize,
    };
};
