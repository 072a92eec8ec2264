import { load, store as save, load } from "./store.js";
