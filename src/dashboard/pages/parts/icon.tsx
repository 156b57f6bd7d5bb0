/** Shapes that say what a colour says, too. */
const SHAPES = {
  up: <circle cx="6" cy="6" r="4.5" />,
  down: <path d="M6 1 11.3 10.5H.7Z" />,
  off: <path d="M2 2h3v8H2zM7 2h3v8H7z" />,
  work: <path d="M6 .8 11.2 6 6 11.2.8 6Z" />,
  wrong: (
    <path d="M6 .5a5.5 5.5 0 1 1 0 11 5.5 5.5 0 0 1 0-11ZM3.2 4.4 4.8 6 3.2 7.6l1.2 1.2L6 7.2l1.6 1.6 1.2-1.2L7.2 6l1.6-1.6-1.2-1.2L6 4.8 4.4 3.2Z" />
  ),
  none: <path d="M1.5 5h9v2h-9z" />,
} as const;

export type Shape = keyof typeof SHAPES;

export function Icon({ shape }: { readonly shape: Shape }) {
  return (
    <svg class={`icon icon-${shape}`} viewBox="0 0 12 12" width="12" height="12" aria-hidden="true" focusable="false">
      {SHAPES[shape]}
    </svg>
  );
}
