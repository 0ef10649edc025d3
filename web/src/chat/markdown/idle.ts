/* idle.ts -- work that may wait, a little at a time, so that no task of the page is a long one.
 *
 * A job does one small step each time it is called and says whether there is another. One step is done per idle moment,
 * of whichever job came first; a page that is never idle does one now and then all the same.
 */
const late_ms = 300;

type Job = () => boolean;
const jobs: Job[] = [];

export function whenIdle(job: Job): void {
  if (jobs.push(job) === 1) wait();
}

function wait(): void {
  // Safari has no idle moments.
  if (typeof requestIdleCallback === 'function') requestIdleCallback(step, { timeout: late_ms });
  else setTimeout(step);
}

function step(): void {
  if (!jobs[0]!()) jobs.shift();
  if (jobs.length > 0) wait();
}
