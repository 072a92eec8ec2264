interface JSONRespond {
  (value: string): Response
  <T = unknown>(value: T, status?: number): Response
  <T = unknown>(value: T, init: ResponseInit): Promise<Response>
}

export interface CreateHandlers<E extends Env, out P, in I = unknown> {
  <R, E2 extends Env = E>(handler: H<E2, P, R>): [H<E2, P, R>]

  // two handlers
  <
    R,
    E2 extends Env = E,
  >(
    first: H<E2, P, R>,
    second: H<E2, P, R>
  ): [H<E2, P, R>, H<E2, P, R>]

  <R>(path: string): R extends true ? true : false
}

export type * from './types'
export type * as Headers from './headers'

const loaded = load<typeof import('./fixtures/basic')>('basic')

abstract class Cell {
  accessor value: string
}

export interface Shaped<
  /** @internal */
  out S extends Shape = Shape,
> {
  shape: S
}
