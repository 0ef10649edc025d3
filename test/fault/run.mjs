// run.mjs -- what the server must survive. For now: being killed.
import './kill.mjs';
