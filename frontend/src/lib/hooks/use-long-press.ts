// What a finger does that rests on an element for a while; a mouse has other means.
import { type MouseEvent, type PointerEvent, useEffect, useRef } from "react";

const LONG_PRESS_MILLISECONDS = 500;
const MOVED_PIXELS = 10;

export function useLongPress(onLong: (() => void) | undefined) {
  const state = useRef({ timer: 0, isLong: false, isTouch: false, x: 0, y: 0 });
  const stop = () => clearTimeout(state.current.timer);
  useEffect(() => () => clearTimeout(state.current.timer), []);
  const handlers = {
    onPointerDown: ({ pointerType, clientX, clientY }: PointerEvent) => {
      stop();
      state.current = { timer: 0, isLong: false, isTouch: pointerType === "touch", x: clientX, y: clientY };
      if (pointerType !== "touch" || onLong === undefined) return;
      state.current.timer = window.setTimeout(() => {
        state.current.isLong = true;
        onLong();
      }, LONG_PRESS_MILLISECONDS);
    },
    onPointerMove: ({ clientX, clientY }: PointerEvent) => {
      if (Math.hypot(clientX - state.current.x, clientY - state.current.y) > MOVED_PIXELS) stop();
    },
    onPointerUp: stop,
    onPointerCancel: stop,
    // The browser's own menu of a long press would stand over the selection.
    onContextMenu: (event: MouseEvent) => {
      if (state.current.isTouch && onLong !== undefined) event.preventDefault();
    },
  };
  return { handlers, wasLong: () => state.current.isLong, isTouch: () => state.current.isTouch };
}
