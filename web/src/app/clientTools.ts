/* clientTools.ts -- the tools that run in this browser.
 *
 * Each takes the call's input and gives a value, or throws with a sentence that
 * goes back to the model (a refused permission is an answer, not a crash).
 */
import { isObject } from '../protocol';
import type { ClientTool } from '../transport/session';
import { changeTrack } from './bgm';

async function changeBgm(input: unknown): Promise<unknown> {
  const given = isObject(input) ? (input.track ?? input.track_id ?? input.trackId ?? input.index) : input;
  const track = Number(given);
  if (track !== 0 && track !== 1) throw new Error(`There is no track ${String(given)}; the tracks are 0 and 1.`);
  changeTrack(track);
  return { success: true, track, message: `BGM changed to track ${track}` };
}

const fixWithin_ms = 25_000; // the server waits 60 s for a client tool; a prompt takes its time

function getLocation(): Promise<unknown> {
  return new Promise((resolve, reject) => {
    if (!('geolocation' in navigator)) {
      reject(new Error('This browser has no location service.'));
      return;
    }
    navigator.geolocation.getCurrentPosition(
      ({ coords }) => resolve({ latitude: coords.latitude, longitude: coords.longitude, accuracy_m: Math.round(coords.accuracy) }),
      (e) => reject(new Error(reasons[e.code] ?? e.message)),
      { timeout: fixWithin_ms, maximumAge: 60_000 },
    );
  });
}

const reasons: Record<number, string> = {
  1: 'The user refused the permission to read the location.',
  2: 'The location is not available.',
  3: 'Finding the location took too long.',
};

export const clientTools: Record<string, ClientTool> = {
  change_bgm: changeBgm,
  get_location: getLocation,
};
