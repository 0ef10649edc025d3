/* icons.tsx -- one set, drawn here: 20 px box, 1.5 px strokes, the text's colour. */

const paths = {
  search: 'M9 15a6 6 0 1 1 0-12 6 6 0 0 1 0 12zm4.5-1.5L17 17',
  build: 'M3 6.5 10 3l7 3.5v7L10 17l-7-3.5zm0 0 7 3.5m0 0 7-3.5M10 10v7',
  image: 'M3.5 4.5h13v11h-13zM3.5 13l3.5-3.5 3 3 2-2 4.5 4M13 8h.01',
  clip: 'M14.5 9.5l-5.2 5.2a3.2 3.2 0 0 1-4.5-4.5l6-6a2.1 2.1 0 0 1 3 3l-6 6a1 1 0 0 1-1.5-1.5l5.2-5.2',
  paper: 'M5 3h6.5L15 6.5V17H5zm6.5 0v3.5H15M7.5 10h5M7.5 13h5',
  pay: 'M3 6h14v9H3zm0 3h14M6 12.5h3',
  music: 'M7.5 15.5V5l8-1.5V14M7.5 15.5a2 2 0 1 1-4 0 2 2 0 0 1 4 0zm8-1.5a2 2 0 1 1-4 0 2 2 0 0 1 4 0z',
  place: 'M10 17s5-4.4 5-8.5a5 5 0 0 0-10 0C5 12.6 10 17 10 17zm0-6.8a1.8 1.8 0 1 0 0-3.6 1.8 1.8 0 0 0 0 3.6z',
  weather: 'M6.5 15.5h7a3 3 0 0 0 .4-6A4.5 4.5 0 0 0 5.3 10a2.8 2.8 0 0 0 1.2 5.5z',
  tool: 'M12.2 3.2a4 4 0 0 0-3.9 5.4l-5 5a1.6 1.6 0 0 0 2.3 2.3l5-5a4 4 0 0 0 5.3-4.6l-2.4 2.4-2.2-.6-.6-2.2z',
  send: 'M10 16V4.5M5 9l5-5 5 5',
  stop: 'M6 6h8v8H6z',
  plus: 'M10 4v12M4 10h12',
  menu: 'M3.5 6h13M3.5 10h13M3.5 14h13',
  close: 'M5 5l10 10M15 5 5 15',
  check: 'M4 10.5l4 4 8-9',
  cross: 'M6 6l8 8M14 6l-8 8',
  chevron: 'M6 8l4 4 4-4',
  back: 'M12 6l-4 4 4 4',
  next: 'M8 6l4 4-4 4',
  copy: 'M7.5 7.5h8v8h-8zM5 12.5H4.5v-8h8V5',
  edit: 'M4 16l.8-3.2L13 4.6l2.4 2.4-8.2 8.2zM11.5 6.1l2.4 2.4',
  retry: 'M15.5 8A6 6 0 1 0 16 11.5M15.8 4v4h-4',
  down: 'M10 4v11.5M5 11l5 5 5-5',
  inbox: 'M3.5 11h3.3l1.2 2h4l1.2-2h3.3M3.5 11v5h13v-5L14 4H6z',
  settings: 'M4 6h7m3 0h2M4 14h2m3 0h7M12.5 8a2 2 0 1 0 0-4 2 2 0 0 0 0 4zM7.5 16a2 2 0 1 0 0-4 2 2 0 0 0 0 4z',
  trash: 'M4 6h12M8 6V4h4v2M5.5 6l.7 10h7.6l.7-10M8.5 9v4.5M11.5 9v4.5',
  clock: 'M10 17a7 7 0 1 0 0-14 7 7 0 0 0 0 14zm0-11v4l2.5 2',
  hourglass: 'M6 3.5h8M6 16.5h8M7 3.5c0 4.5 6 4.5 6 0M7 16.5c0-4.5 6-4.5 6 0M10 7v6',
  shield: 'M10 17s6-2.5 6-7V5l-6-2-6 2v5c0 4.5 6 7 6 7z',
  question: 'M7.7 7.5a2.4 2.4 0 1 1 3.4 2.3c-.8.4-1.1.8-1.1 1.7M10 14.3h.01M10 17a7 7 0 1 0 0-14 7 7 0 0 0 0 14z',
  warning: 'M10 3.5 17.5 16h-15zM10 8.5v3.5M10 14h.01',
  browser: 'M3 4.5h14v11H3zm0 3.5h14M5.5 6.2h.01',
  link: 'M8.5 11.5a3 3 0 0 0 4.3 0l2.4-2.4a3 3 0 0 0-4.3-4.3L10 5.7M11.5 8.5a3 3 0 0 0-4.3 0l-2.4 2.4a3 3 0 0 0 4.3 4.3l.9-.9',
  wrap: 'M3.5 5h13M3.5 10h10a2.5 2.5 0 0 1 0 5H10m2-2-2 2 2 2M3.5 15h3',
  theme: 'M10 17a7 7 0 1 0 0-14 7 7 0 0 0 0 14zm0-14v14m0-11 4.5-1.5M10 10h7m-7 4 4.5 1',
  expand: 'M11.5 4H16v4.5M16 4l-5 5M8.5 16H4v-4.5M4 16l5-5',
  thought: 'M6 12.5a4 4 0 0 1 .3-7.8 4 4 0 0 1 7.4.8 3.5 3.5 0 0 1-.7 7zM7 15.5h.01M5 17h.01',
  pause: 'M7.5 5v10M12.5 5v10',
  play: 'M6.5 4.5 15 10l-8.5 5.5z',
  download: 'M10 3.5v9M6.5 9 10 12.5 13.5 9M4 12v4.5h12V12',
  chat: 'M4 4.5h12a1.5 1.5 0 0 1 1.5 1.5v7a1.5 1.5 0 0 1-1.5 1.5H9.5L6 17.5v-3H4A1.5 1.5 0 0 1 2.5 13V6A1.5 1.5 0 0 1 4 4.5zM6.5 8h7M6.5 11h4.5',
  dots: 'M4.5 10h.01M10 10h.01M15.5 10h.01',
} as const;

export type IconName = keyof typeof paths;

export function Icon({ name, size = 20 }: { name: IconName; size?: number }) {
  return (
    <svg
      className="icon"
      width={size}
      height={size}
      viewBox="0 0 20 20"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.5"
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
    >
      <path d={paths[name]} />
    </svg>
  );
}

/** The picture of a tool, guessed from its name; the name itself is always beside it. */
export function toolIcon(name: string): IconName {
  const rules: [RegExp, IconName][] = [
    [/search|find|browse/, 'search'],
    [/artifact|build|component|code/, 'build'],
    [/image|picture|photo|draw/, 'image'],
    [/pay|transfer|invoice|money/, 'pay'],
    [/bgm|music|audio|sound/, 'music'],
    [/location|place|map|geo/, 'place'],
    [/weather/, 'weather'],
  ];
  return rules.find(([r]) => r.test(name))?.[1] ?? 'tool';
}
