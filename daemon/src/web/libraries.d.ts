// The libraries of the page are scripts without types; what is used of them is described here.
declare module "preact" {
  export const h: any;
  export const render: (what: any, where: Element) => void;
}
declare module "preact/hooks" {
  export function useState<T>(first: T | (() => T)): [T, (next: T | ((old: T) => T)) => void];
  export function useEffect(run: () => void | (() => void), on?: any[]): void;
  export function useRef<T>(first: T): { current: T };
}
declare module "@preact/signals" {
  export interface Signal<T> { value: T; peek(): T; subscribe(run: (value: T) => void): () => void }
  export function signal<T>(first: T): Signal<T>;
  export function computed<T>(value: () => T): Signal<T>;
}
declare module "htm" {
  const htm: { bind(h: any): (parts: TemplateStringsArray, ...values: any[]) => any };
  export default htm;
}
declare module "uplot" { const uPlot: any; export default uPlot; }
declare module "@xterm/xterm" { export const Terminal: any; }
declare module "@xterm/addon-fit" { export const FitAddon: any; }
/** Answers that start.js asked for before the other scripts were loaded. */
declare var early: Map<string, Promise<Response>> | undefined;
