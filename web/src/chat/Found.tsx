/* Found.tsx -- a line in which something was found, the words standing off. */
export function Found({ line, words }: { line: string; words: string }) {
  const at = words ? line.toLowerCase().indexOf(words.toLowerCase()) : -1;
  return (
    <span className="found" dir="auto">
      {at < 0 ? (
        line
      ) : (
        <>
          {line.slice(0, at)}
          <mark>{line.slice(at, at + words.length)}</mark>
          {line.slice(at + words.length)}
        </>
      )}
    </span>
  );
}
